import type { Bugs } from '../mutation.ts';

/** Who is a caller of the HTTP API, and requests that are repeated. */
export const callerBugs: Bugs = {
  'repeated-request-acts-once': {
    'test/integration/api/one-transaction.test.ts': {
      'api-ignored-failure-succeeds': {
        file: 'src/store/database/within-one.ts',
        find: `await sql.query('select');`,
      },
      'api-change-locks-while-it-waits': {
        file: 'src/store/database/within-one.ts',
        find: 'inOne: true,',
      },
    },
    'test/integration/api/requests.test.ts': {
      'api-key-of-another-request': {
        file: 'src/store/request/request.ts',
        find: `if (row.digest !== digest) return { kind: 'other' };`,
        replace: `if (row.digest === '') return { kind: 'other' };`,
        title: 'a repeat with the same key gets the first answer, and changes nothing again',
      },
      'api-key-whatever-the-version': {
        file: 'src/api/once.ts',
        find: `request.headers.get('if-match'),`,
        title: 'the version that a request asks for is a part of it',
      },
      'api-answer-not-stored': {
        file: 'src/app/operations/answer-once.ts',
        find: 'else await storeAnswer(at, request, answer);',
        replace: 'else await leaveRequest(at, request);',
        title: 'a repeat with the same key gets the first answer, and changes nothing again',
      },
      'api-unfinished-answer-stored': {
        file: 'src/api/answer.ts',
        find: 'operation.unfinished?.(value) === true',
        replace: 'operation.unfinished?.(value) === undefined',
        title: 'an answer that is not done is not that of its key: a repeat goes on',
      },
      'api-incomplete-pause-stored': {
        file: 'src/api/table/delivery.ts',
        find: `'complete' in answer && answer.complete === false`,
        replace: `'complete' in answer && answer.complete === null`,
        title: 'an answer that is not done is not that of its key: a repeat goes on',
      },
    },
    'test/integration/api/repeats.test.ts': {
      'api-key-whatever-the-topics': {
        file: 'src/api/once.ts',
        find: 'caller.topics?.toSorted(),',
      },
      'api-equal-requests-all-act': {
        file: 'src/store/request/request.ts',
        find: 'and (r.taken_until is null or r.taken_until < clock_timestamp())',
        replace: 'and r.created_at is not null',
      },
      'api-busy-stored': {
        file: 'src/api/answer.ts',
        find: 'unfinished: errorRules[code].retryable',
        replace: 'unfinished: errorRules[code].retryable && status < 400',
      },
    },
    'test/integration/api/node-listener.test.ts': {
      'api-body-read-before': {
        file: 'src/api/input.ts',
        find: `if (text === '' && hadBody(request))`,
        replace: `if (text !== '' && hadBody(request) && text.length > bodyBytes)`,
      },
    },
  },
  'callers-prove-themselves': {
    'test/integration/api/sign-in/refused-sign-ins.test.ts': {
      'a-name-beside-the-token-unasked': {
        file: 'src/api/sign-in/granted.ts',
        find: 'return Object.hasOwn(claims, claim) &&',
        replace: 'return Object.hasOwn(claims, claim) ||',
        title: 'a name that the provider tells beside the ID token is the name of the person',
      },
      'a-beginning-used-again': {
        file: 'src/api/sign-in/open-id-connect.ts',
        find: '&& this.#spent.spend(begun.state)',
        replace: '&& this.#spent.spend(begun.state) !== undefined',
        title: 'who fails again and again asks the provider once for each beginning',
      },
      'sign-in-signature-not-checked': {
        file: 'src/api/sign-in/provider.ts',
        find: 'client.enableNonRepudiationChecks(made);',
        title: 'signed by another key',
      },
      'sign-in-any-algorithm': {
        file: 'src/api/sign-in/provider.ts',
        find: 'id_token_signed_response_alg: algorithm,',
        replace: 'id_token_signed_response_alg: algorithm === "none" ? algorithm : undefined,',
        title: 'of an algorithm that is not configured',
      },
      'sign-in-state-not-checked': {
        file: 'src/api/sign-in/provider.ts',
        find: 'expectedState: state,',
        replace: `expectedState: state === '' ? state : client.skipStateCheck,`,
        title: 'another state, or none, is refused before the code is used',
      },
      'sign-in-beginning-of-any-secret': {
        file: 'src/api/sign-in/beginning.ts',
        find: `hkdfSync('sha256', secret,`,
        replace: `hkdfSync('sha256', secret.slice(0, 1),`,
        title: 'a beginning that was altered, or sealed by another secret, is refused',
      },
    },
    'test/integration/api/sign-in/open-id-connect.test.ts': {
      'sign-in-claim-by-its-beginning': {
        file: 'src/api/sign-in/granted.ts',
        find: 'filter((value) => told.has(value))',
        replace: 'filter((value) => [...told].some((one) => String(one).startsWith(value)))',
        title: 'a longer value',
      },
      'sign-in-keeps-the-old-session': {
        file: 'src/store/request/api-session.ts',
        find: `[replaced ?? '', provider,`,
        replace: `[replaced?.slice(1) ?? '', provider,`,
        title: 'an id that was planted in the browser is not the one of its session',
      },
      'sign-in-session-never-idle': {
        file: 'src/store/request/api-session.ts',
        find: `and s.used_at > now() - $3 * interval '1 ms'`,
        replace: `and s.used_at > now() - 99 * $3 * interval '1 ms'`,
        title: 'a session ends 15 minutes after its last request',
      },
      'sign-in-session-of-another-provider': {
        file: 'src/store/request/api-session.ts',
        find: 'const live = `s.id_hash = $1 and s.provider = $2 and',
        replace: 'const live = `s.id_hash = $1 and s.provider = coalesce(s.provider, $2) and',
        title: 'a session of one provider is nobody at another',
      },
      'sign-out-by-another-site': {
        file: 'src/api/sign-in/open-id-connect.ts',
        find: 'requireSameOrigin(request);',
        replace: `if (request.method !== 'POST') requireSameOrigin(request);`,
        title: 'other sites cannot sign a person out, and no link does',
      },
    },
    'test/integration/api/sign-in/basic-users.test.ts': {
      'sign-in-unknown-name-is-quick': {
        file: 'src/api/sign-in/basic-users.ts',
        find: '(found ?? standIn(name))?.hash()',
        replace: '(standIn(name) === undefined ? undefined : found)?.hash()',
        title: 'an unknown name takes as long as a known one',
      },
      'sign-in-proof-ends-with-its-first-asker': {
        file: 'src/api/sign-in/basic-users.ts',
        find: '(unwanted) => prove(sent, from, unwanted)',
        replace: '() => prove(sent, from, request.signal)',
        title: 'a request that is given up takes no proof from others',
      },
      'sign-in-tries-begin-while-they-wait': {
        file: 'src/api/sign-in/basic-users.ts',
        find: 'new Slots(atOnce)',
        replace: 'new Slots(20 * atOnce)',
        title: 'right passwords that are asked for at the same time are all right',
      },
      'sign-in-tries-not-in-turn': {
        file: 'src/store/request/sign-in-try.ts',
        find: `hashtextextended('outbox.sign_in_try ' || w.what, 0)`,
        replace: `hashtextextended('outbox.sign_in_try ' || w.what || random(), 0)`,
        title: 'tries at the same time, at several processes, are no way around the limit',
      },
      'sign-in-tries-forgotten-early': {
        file: 'src/store/request/sign-in-try.ts',
        find: 'const windowMs = 60_000;',
        replace: 'const windowMs = 50_000;',
        title: 'a minute after a wrong try there is room for another, and the old ones go',
      },
    },
    'test/integration/api/sign-in/served.test.ts': {
      'sign-in-limit-is-an-outage': {
        file: 'src/api/router.ts',
        find: `cause.code === 'OUTBOX_REQUEST_LIMITED') throw cause;`,
        replace: `cause.code === 'OUTBOX_REQUEST_FAILED') throw cause;`,
      },
    },
    'test/unit/api/sign-in/late-options.test.ts': {
      'sign-in-wrong-option-blames-the-caller': {
        file: 'src/api/router.ts',
        find: `if (problemOf(cause, '').status >= 500) throw cause;`,
        replace: `if (problemOf(cause, '').status >= 400) throw cause;`,
      },
      'sign-in-wrong-option-stops-the-api': {
        file: 'src/api/sign-in/open-id-connect.ts',
        find: 'if (route === undefined || path !== `${this.#folder()}${name}`) return',
        replace: 'if (path !== `${this.#folder()}${name}` || route === undefined) return',
      },
    },
    'test/unit/api/open-stream-rights.test.ts': {
      'stream-keeps-rights-taken-away': {
        file: 'src/api/caller.ts',
        find: 'return isDeepStrictEqual(rightsOf(one), rightsOf(other));',
        replace: 'return isDeepStrictEqual(rightsOf({ ...one, role: other.role }), rightsOf(other));',
        title: 'ends at the next heartbeat',
      },
    },
    'test/unit/api/sign-in/any-of.test.ts': {
      'sign-in-failure-lets-in': {
        file: 'src/api/sign-in/any-of.ts',
        find: 'if (failures.length > 0) throw failures[0];',
      },
    },
    'test/integration/api/sign-in/sign-out.test.ts': {
      'sign-out-here-only': {
        file: 'src/api/sign-in/open-id-connect.ts',
        find: 'if (there === undefined) return',
        replace: 'if (there !== null) return',
      },
      'sign-out-leaves-streams-open': {
        file: 'src/api/router.ts',
        find: 'return now !== undefined && isSameCaller(now, before);',
        replace: 'return now === undefined || isSameCaller(now, before);',
      },
      'stream-lets-its-session-go-idle': {
        file: 'src/api/live/event-stream.ts',
        find: 'void ask();',
        replace: `if (caller === '') void ask();`,
      },
    },
  },
};
