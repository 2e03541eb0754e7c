import type { Bugs } from '../mutation.ts';

/** What the HTTP API shows and does. */
export const apiBugs: Bugs = {
  'api-shows-nothing-without-right': {
    'test/integration/api/rights.test.ts': {
      'api-role-not-asked': {
        file: 'src/api/answer.ts',
        find: 'if (!mayAct(caller.role, role)) throw',
        replace: `if (!mayAct(caller.role, 'viewer') && role !== 'viewer') throw`,
      },
      'api-topic-of-one-message-not-asked': {
        file: 'src/api/table/changes.ts',
        find: 'if (scope.limited) scope.require',
        replace: 'if (!scope.limited) scope.require',
      },
      'api-topics-of-several-messages-not-asked': {
        file: 'src/api/table/changes.ts',
        find: 'const seen = ids.filter((id) => scope.sees(topics.get(id)));',
        replace: 'const seen = ids.filter((id) => topics.has(id));',
      },
      'api-counts-of-other-topics': {
        file: 'src/api/live/seen-status.ts',
        find: 'const lanes = status.lanes.filter(({ topic }) => scope.sees(topic));',
        replace: `const lanes = status.lanes.filter(({ topic }) => scope.sees(topic) || topic !== '');`,
      },
      'api-denial-not-noted': {
        file: 'src/api/answer.ts',
        find: 'if (denied !== undefined) await noteDenied',
        replace: `if (denied !== undefined && asked.requestId === '') await noteDenied`,
      },
      'audit-denies-what-there-is-not': {
        file: 'src/api/scope.ts',
        find: 'if (topic === undefined && this.limited) throw unknown;',
      },
      'audit-denies-topics-that-there-are-not': {
        file: 'src/api/answer.ts',
        find: 'if (named && (await unknownNames(at, { topic })) !== undefined) return;',
      },
    },
    'test/integration/api/effects.test.ts': {
      'api-alerts-of-other-topics': {
        file: 'src/api/table/alerts.ts',
        find: 'const seen = status.alerts.filter(({ subject }) => scope.sees(topicIn(subject)));',
        replace: 'const seen = status.alerts;',
        title: 'alerts are listed, to a limited caller those of its topics',
      },
      'api-limits-bulks-after-their-page': {
        file: 'src/store/bulk/bulk.ts',
        find: '$3::text[] is null or b.filter',
        replace: '$3::text[] is not null or b.filter',
        title: 'a page of bulk operations is full of those that a limited caller sees',
      },
      'api-operation-of-all-topics-not-asked': {
        file: 'src/api/answer.ts',
        find: 'if (allTopics === true) new Scope',
        replace: 'if (allTopics === true && payloads === true) new Scope',
        title: 'alerts are listed, to a limited caller those of its topics, and a rule is silenced',
      },
      'api-payload-shown': {
        file: 'src/api/table/messages.ts',
        find: 'return { ...found, message };',
        replace: 'return { ...found, message: { ...message, ...found.message } };',
        title: 'payload and headers are revealed to those who may read them, and the audit says to whom',
      },
    },
    'test/integration/operations/show-log.test.ts': {
      'api-asks-brokers-for-everybody': {
        file: 'src/api/table/messages.ts',
        find: `await requireSeen(call, id);
      return shown(`,
        replace: 'return shown(',
      },
    },
    'test/integration/api/requests.test.ts': {
      'api-cross-site-by-cookie': {
        file: 'src/api/answer.ts',
        find: `if (operation.method !== 'GET' && caller.ambient) requireSameOrigin(request);`,
        replace: `if (operation.method === 'GET' && caller.ambient) requireSameOrigin(request);`,
        title: 'is refused, and noted',
      },
      'api-limited-caller-told-of-names': {
        file: 'src/api/known.ts',
        find: 'if (scope.limited) return;',
        replace: `if (!scope.limited && names.topic === '') return;`,
        title: 'a misspelt topic or group is not answered as if nothing was found',
      },
      'api-edit-quotes-the-payload': {
        file: 'src/operations/edit-content.ts',
        find: '${placeIn(reasonOf(error))}',
        replace: '${placeIn(reasonOf(error)) + reasonOf(error)}',
        title: 'a payload that is no JSON is told of without a part of it',
      },
      'sibling-site-may-change': {
        file: 'src/api/same-origin.ts',
        find: `site === 'same-origin') return;`,
        replace: `site !== 'cross-site') return;`,
        title: 'is refused, and noted',
      },
    },
    'test/integration/api/one-transaction.test.ts': {
      'api-read-may-write': {
        file: 'src/app/operations/served-operations.ts',
        find: `readOnly: way === 'read',`,
        replace: 'readOnly: statementMs[way] < 0,',
      },
    },
    'test/integration/api/follow-messages.test.ts': {
      'api-followed-topic-not-limited': {
        file: 'src/api/live/streams.ts',
        find: 'return followMessages(scope.filter(filter), last, lastId);',
        replace: 'return followMessages(scope.limited ? filter : scope.filter(filter), last, lastId);',
      },
      'api-stream-begins-anew': {
        file: 'src/api/live/follow-messages.ts',
        find: 'served.follow(filter, options, place, sight)',
        replace: 'served.follow(filter, options, place === from ? undefined : place, sight)',
      },
      'api-stream-leaves-out': {
        file: 'src/api/live/follow-messages.ts',
        find: `await sink.room();
          sink.send('message', message);`,
        replace: `sink.send('message', message);`,
      },
    },
    'test/integration/api/node-listener.test.ts': {
      'api-path-below-its-prefix-counts': {
        file: 'src/api/node-listener.ts',
        find: `if (typeof whole === 'string') request.url = whole;`,
        replace: `if (typeof whole === 'number') request.url = String(whole);`,
      },
    },
    'test/unit/api/methods.test.ts': {
      'api-methods-told-to-nobody': {
        file: 'src/api/router.ts',
        find: 'const own = await answeredBy(',
        replace: `assertMethod(context.req.method, context.req.path.slice(basePath.length));
    const own = await answeredBy(`,
      },
    },
    'test/unit/brokers/http/answers.test.ts': {
      'hold-quotes-a-body': {
        file: 'src/brokers/http/transport/answer-class.ts',
        find: 'const reason = `${server} answered ${status} (',
        replace: 'const reason = `${answerReason(answer, server, hidden)} (',
      },
    },
    'test/integration/api/reads.test.ts': {
      'look-locks-its-key': {
        file: 'src/store/inbox/show.ts',
        find: 'from outbox.parked_key k where k.id = p.key_id',
        replace: 'from (select * from outbox.parked_key for share skip locked) k where k.id = p.key_id',
      },
      'error-text-found-by-trying': {
        file: 'src/api/scope.ts',
        find: 'if (filter.error !== undefined && !this.#payloads)',
        replace: 'if (filter.error === "")',
      },
      'viewer-is-told-errors': {
        file: 'src/app/operations/served-operations.ts',
        find: 'return payloads ? at : withUntoldErrors(at);',
        replace: 'return payloads ? at : at;',
      },
    },
    'test/integration/api/hostile-requests.test.ts': {
      'deep-payload-fails-the-server': {
        file: 'src/outbox/unwritable-value.ts',
        find: 'if (path.length === deepest)',
        replace: 'if (path.length < 0)',
      },
      'api-logs-the-whole-error': {
        file: 'src/api/router.ts',
        find: 'error: reasonOf(rootOf(error)),',
        replace: 'error: [reasonOf(rootOf(error)), { ...Object(rootOf(error)) }],',
      },
    },
    'test/unit/operations/known-names.test.ts': {
      'limited-caller-told-of-other-topics': {
        file: 'src/api/known.ts',
        find: 'return scope.limited ? work()',
        replace: 'return scope.limited && named === undefined ? work()',
      },
    },
  },
  'no-request-waits-forever': {
    'test/integration/api/statement-limits.test.ts': {
      'api-waits-without-a-limit': {
        file: 'src/store/database/with-limits.ts',
        find: 'await sql.query(limits);',
      },
      'proof-that-waits-for-ever': {
        file: 'src/app/operations/proof-database.ts',
        find: '=> work(withLimits(database, limits))',
        replace: '=> (limits.lockMs > 0 ? work(database) : work(withLimits(database, limits)))',
      },
    },
  },
  'faces-describe-the-same': {
    'test/unit/cli/described-once.test.ts': {
      'api-says-other-than-the-help': {
        file: 'src/operations/inputs/messages.ts',
        find: 'dueTo: meaning(optional(time), optionTexts.dueTo, timeForm)',
        replace: 'dueTo: meaning(optional(time), optionTexts.dueFrom, timeForm)',
      },
    },
    'test/integration/cli/json-answers.test.ts': {
      'json-in-other-words-than-the-api': {
        file: 'src/cli/change-command.ts',
        find: 'dryRun, answers });',
        replace: 'dryRun, messages: answers });',
        built: true,
      },
    },
    'test/unit/api/openapi.test.ts': {
      'openapi-requires-no-parameter': {
        file: 'src/api/openapi.ts',
        find: 'required: isRequired(reader)',
        replace: 'required: false',
      },
      'openapi-without-ways-to-prove-a-caller': {
        file: 'src/api/openapi.ts',
        find: 'security, paths',
        replace: 'paths',
      },
    },
  },
};
