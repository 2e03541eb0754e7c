import type { Bugs } from '../mutation.ts';

/** What comes in and goes out by other ways, and what is refused. */
export const edgeBugs: Bugs = {
  'http-effect-once': {
    'test/integration/http/receive.test.ts': {
      'http-work-without-id': {
        file: 'src/inbox/http/answer-request.ts',
        find: 'await once(tx, group, message.id, () => {',
        replace: 'await (async (run: () => Promise<unknown>) => run())(() => {',
        title: 'a message is applied once, and its repetition succeeds',
      },
      'http-signature-unread': {
        file: 'src/inbox/http/answer-request.ts',
        find: 'if (refusal !== undefined) return',
        replace: 'if (refusal === null) return',
        title: 'no work is done',
      },
      'http-caught-error-committed': {
        file: 'src/inbox/http/answer-request.ts',
        find: 'await refuseSwallowedError(sqlOf(tx));',
        replace: 'sqlOf(tx);',
        title: 'work that caught an error of the database does not succeed',
      },
    },
  },
  'http-outage-spends-no-attempts': {
    'test/integration/http/receive-database.test.ts': {
      'outage-of-the-receiver-is-a-failure': {
        file: 'src/inbox/http/own-fault.ts',
        find: 'if (begun) return undefined;',
        replace: 'return undefined;',
      },
      'failure-of-the-work-is-an-outage': {
        file: 'src/inbox/http/answer-request.ts',
        find: 'begun = true;',
      },
    },
  },
  'http-reaches-no-private-address': {
    'test/transports/http/failures.test.ts': {
      'http-name-not-judged-when-resolved': {
        file: 'src/brokers/http/transport/address-guard.ts',
        find: 'names.has(host.toLowerCase())',
        replace: '!names.has(host.toLowerCase())',
        title: 'is refused before a connection is opened',
      },
    },
  },
  'workflow-started-once': {
    'test/transports/workflow/delivery.test.ts': {
      'workflow-started-again': {
        file: 'src/brokers/workflow/transport/workflow-calls.ts',
        find: 'const rejectDuplicate = 3;',
        replace: 'const rejectDuplicate = 1;',
      },
      'workflow-signal-without-id': {
        file: 'src/brokers/workflow/transport/workflow-calls.ts',
        find: 'const common = { namespace, identity, requestId };',
        replace: 'const common = { namespace, identity, requestId: `${requestId}${Math.random()}` };',
      },
    },
  },
  'hidden-names-stay-out': {
    'test/integration/temporal/handle.test.ts': {
      'hidden-key-in-a-summary-of-parked-messages': {
        file: 'src/temporal/parked-key/starter.ts',
        find: 'key: visible(topic) ? key : null, group',
        replace: 'key, group',
        title: 'a key that must not or cannot be shown does not prevent the start of its workflow',
      },
      'hidden-key-can-be-searched': {
        file: 'src/temporal/parked-key/starter.ts',
        find: 'visible(topic) &&',
        title: 'a key that must not or cannot be shown does not prevent the start of its workflow',
      },
    },
    'test/integration/temporal/namespaces.test.ts': {
      'hidden-names-in-a-summary': {
        file: 'src/temporal/workflow-words.ts',
        find: 'const names = visible ? named(message) : [];',
        replace: 'const names = visible || id !== topic ? named(message) : [];',
      },
      'hidden-names-can-be-searched': {
        file: 'src/temporal/relay/workflow-starter.ts',
        find: '...visible(start.visible ? { topic, key, ref } : { topic }),',
        replace: '...visible({ topic, key, ref }),',
      },
    },
  },
  'sql-refuses-the-same': {
    'test/integration/sending/sql.test.ts': {
      'bad-json-stored-by-sql': {
        file: 'outbox.form_refusal()',
        find: 'and not outbox.is_json(payload)',
        replace: 'and false',
        title: 'plain SQL raises OB002 for',
      },
      'negative-delay-stored-by-sql': {
        file: 'outbox.form_refusal()',
        find: 'not between 0 and 1e15',
        replace: 'not between -1e15 and 1e15',
        title: 'plain SQL raises OB002 for',
      },
    },
    'test/integration/sending/root-client.test.ts': {
      'query-without-a-transaction-taken': {
        file: 'src/store/database/transaction.ts',
        find: 'const isAsked = unproven.has(tx);',
        replace: 'const isAsked = unproven.has(tx) && run.length < 0;',
      },
    },
  },
  'misspelled-topic-warned-of': {
    'test/integration/sending/unannounced.test.ts': {
      'misspelt-topic-not-reported': {
        file: 'src/store/message/store-plain.ts',
        find: 'dueAt, duplicate: false, unannounced, refusal',
        replace: 'dueAt, duplicate: false, unannounced: false, refusal',
      },
    },
    'test/integration/operations/unannounced-topic.test.ts': {
      'withdrawal-announces-a-topic': {
        file: 'src/store/lane/status.ts',
        find: 'where exists (select from outbox.topic t where t.name = l.topic)',
      },
    },
    'test/integration/doctor/delivery.test.ts': {
      'doctor-misses-unannounced-messages': {
        file: 'src/operations/doctor/delivery-checks.ts',
        find: 'undelivered.filter(({ lane }) => lane === null)',
        replace: 'undelivered.filter(({ lane }) => lane !== null)',
      },
    },
  },
  'arguments-refused-at-the-border': {
    'test/unit/outbox/wake.test.ts': {
      'wake-in-a-transaction-of-a-pool': {
        file: 'src/outbox/wake.ts',
        find: `|| '$queryRawUnsafe' in through`,
      },
    },
    'test/unit/config/clients.test.ts': {
      'any-client-is-taken': {
        file: 'src/store/database/client.ts',
        find: `if (has(given, '$transaction')) return;`,
        replace: `if (given !== '') return;`,
      },
    },
    'test/unit/outbox/wrong-inputs.test.ts': {
      'any-topic-is-taken': {
        file: 'src/core/topic.ts',
        find: 'if (isTopic(given)) return;',
        replace: `if (given !== '') return;`,
      },
      'any-topic-is-handled': {
        file: 'src/inbox/consumer.ts',
        find: '.some(({ name }) => name === topic.name)',
        replace: '.some(() => true)',
      },
    },
    'test/integration/api/requests.test.ts': {
      'api-misspelt-name-looks-empty': {
        file: 'src/api/known.ts',
        find: 'if (unknown !== undefined) throw unknown;',
        replace: 'if (unknown?.message === scope.constructor.name) throw unknown;',
        title: 'a misspelt topic or group is not answered as if nothing was found',
      },
    },
    'test/unit/api/methods.test.ts': {
      'api-other-method-not-found': {
        file: 'src/api/methods.ts',
        find: 'if (allow.length > 0 && !allow',
        replace: 'if (allow.length > 9 && !allow',
      },
      'api-head-opens-a-stream': {
        file: 'src/api/router.ts',
        find: `if (request.method === 'HEAD')`,
        replace: `if (request.method === '')`,
      },
    },
    'test/unit/cli/refusals-in-words.test.ts': {
      'refusal-names-what-was-refused': {
        file: 'src/operations/messages/what-remains.ts',
        find: `cancel' || action === '`,
      },
    },
    'test/unit/operations/known-names.test.ts': {
      'unknown-topic-without-the-known-ones': {
        file: 'src/operations/known-names.ts',
        find: 'throw (await unknownNames(at, scope)) ?? error;',
        replace: `throw scope.topic === '' ? ((await unknownNames(at, scope)) ?? error) : error;`,
      },
    },
    'test/unit/cli/wrong-words.test.ts': {
      'whole-help-after-a-wrong-word': {
        file: 'src/cli/run-program.ts',
        find: 'pointToHelp(root);',
        replace: 'root.showHelpAfterError();',
      },
      'misspelt-command-is-an-argument': {
        file: 'src/cli/wrong-words.ts',
        find: 'if (command.commands.length > 0)',
        replace: 'if (command.commands.length > 99)',
      },
    },
    'test/unit/cli/said-flags.test.ts': {
      'flag-named-as-another-one': {
        file: 'src/cli/said-flags.ts',
        find: `reason: 'failedWith',`,
      },
    },
    'test/unit/core/written-time.test.ts': {
      'time-without-seconds-refused': {
        file: 'src/core/written-time.ts',
        find: '(?::\\d{2}(?:\\.\\d{1,9})?)?(?<zone>',
        replace: '(?::\\d{2}(?:\\.\\d{1,9})?)(?<zone>',
      },
      'api-reads-times-in-its-own-zone': {
        file: 'src/operations/inputs/values.ts',
        find: 'if (time?.zoned === true) return time.at;',
        replace: 'if (time !== undefined) return time.at;',
      },
    },
    'test/integration/api/attacks.test.ts': {
      'list-page-after-any-number': {
        file: 'src/operations/list.ts',
        find: 'BigInt(position) > lastPosition ||',
        replace: 'BigInt(position) > 9n * lastPosition ||',
      },
    },
  },
  'own-transactions-lose-no-time': {
    'test/integration/relay/wake.test.ts': {
      'wake-sends-no-nudge': {
        file: 'src/outbox/wake.ts',
        find: `nudge(through, runQueryOf(through, 'wake'), []);`,
        replace: `runQueryOf(through, 'wake');`,
      },
      'wake-in-a-transaction': {
        file: 'src/outbox/wake.ts',
        find: `&& '$connect' in through && typeof through.$connect === 'function'`,
      },
    },
  },
  'recipes-work': {
    'test/integration/cli/recipes.test.ts': {
      'query-outside-of-a-transaction-taken': {
        file: 'src/store/database/transaction.ts',
        find: 'isAsked ? requireOpen(tx)',
        replace: 'isAsked ? Promise.resolve()',
      },
    },
  },
};
