import type { Mutation } from '../mutation.ts';

const rights = 'The HTTP API shows and does nothing without a right';
const once = 'A request that is repeated with its key acts once';
const byRights = 'test/integration/api/rights.test.ts';
const byRequests = 'test/integration/api/requests.test.ts';
const foreignTopic = 'a caller of another topic finds nothing of this one';

/** Rights, limits and repeats of the HTTP API. */
export const httpApiMutations: readonly Mutation[] = [
  {
    name: 'api-role-not-asked',
    promise: rights,
    file: 'src/api/answer.ts',
    find: 'if (!mayAct(caller.role, role)) throw',
    replace: "if (!mayAct(caller.role, 'viewer') && role !== 'viewer') throw",
    test: byRights,
    title: 'is refused before anything is read',
  },
  {
    name: 'api-topic-of-one-message-not-asked',
    promise: rights,
    file: 'src/api/table/changes.ts',
    find: 'if (scope.limited) scope.require((await at.topicsOf([id])).get(id), messageUnknown(id));',
    replace: 'if (!scope.limited) scope.require((await at.topicsOf([id])).get(id), messageUnknown(id));',
    test: byRights,
    title: foreignTopic,
  },
  {
    name: 'api-topics-of-several-messages-not-asked',
    promise: rights,
    file: 'src/api/table/changes.ts',
    find: 'const seen = ids.filter((id) => scope.sees(topics.get(id)));',
    replace: 'const seen = ids.filter((id) => topics.has(id));',
    test: byRights,
    title: foreignTopic,
  },
  {
    name: 'api-alerts-of-other-topics',
    promise: rights,
    file: 'src/api/table/alerts.ts',
    find: 'const seen = status.alerts.filter(({ subject }) => scope.sees(topicIn(subject)));',
    replace: 'const seen = status.alerts;',
    test: 'test/integration/api/effects.test.ts',
    title: 'alerts are listed, to a limited caller those of its topics',
  },
  {
    name: 'api-counts-of-other-topics',
    promise: rights,
    file: 'src/api/live/seen-status.ts',
    find: 'const lanes = status.lanes.filter(({ topic }) => scope.sees(topic));',
    replace: "const lanes = status.lanes.filter(({ topic }) => scope.sees(topic) || topic !== '');",
    test: byRights,
    title: foreignTopic,
  },
  {
    name: 'api-payload-shown',
    promise: rights,
    file: 'src/api/table/messages.ts',
    find: 'return { ...found, message };',
    replace: 'return { ...found, message: { ...message, ...found.message } };',
    test: 'test/integration/api/messages.test.ts',
    title: 'payload and headers are revealed to those who may read them, and the audit says to whom',
  },
  {
    name: 'api-cross-site-by-cookie',
    promise: rights,
    file: 'src/api/answer.ts',
    find: "if (operation.method !== 'GET' && caller.ambient) requireSameOrigin(request);",
    replace: "if (operation.method === 'GET' && caller.ambient) requireSameOrigin(request);",
    test: byRequests,
    title: 'is refused, and noted',
  },
  {
    name: 'api-denial-not-noted',
    promise: rights,
    file: 'src/api/answer.ts',
    find: 'if (denied !== undefined) await noteDenied(served, operation, asked, denied);',
    replace:
      "if (denied !== undefined && asked.requestId === '') await noteDenied(served, operation, asked, denied);",
    test: byRights,
    title: 'what a caller of another topic asked for has had no effect',
  },
  {
    name: 'api-read-may-write',
    promise: rights,
    file: 'src/app/operations/served-operations.ts',
    find: "readOnly: way === 'read',",
    replace: 'readOnly: statementMs[way] < 0,',
    test: 'test/integration/api/one-transaction.test.ts',
    title: 'a read cannot write: the server refuses it',
  },
  {
    name: 'api-ignored-failure-succeeds',
    promise: once,
    file: 'src/store/database/within-one.ts',
    find: "    await sql.query('select');\n",
    replace: '',
    test: 'test/integration/api/one-transaction.test.ts',
    title: 'a failure that the work ignores commits nothing and is not taken for success',
  },
  {
    name: 'api-key-of-another-request',
    promise: once,
    file: 'src/store/request/request.ts',
    find: "if (row.digest !== digest) return { kind: 'other' };",
    replace: "if (row.digest === '') return { kind: 'other' };",
    test: byRequests,
    title: 'a repeat with the same key gets the first answer, and changes nothing again',
  },
  {
    name: 'api-answer-not-stored',
    promise: once,
    file: 'src/app/operations/served-operations.ts',
    find: '        await storeAnswer(at, request, answer);\n',
    replace: '        if (answer.status === 0) await storeAnswer(at, request, answer);\n',
    test: byRequests,
    title: 'a repeat with the same key gets the first answer, and changes nothing again',
  },
  {
    name: 'api-body-read-before',
    promise: once,
    file: 'src/api/input.ts',
    find: "if (text === '' && hadBody(request))",
    replace: "if (text !== '' && hadBody(request) && text.length > bodyBytes)",
    test: 'test/integration/api/node-listener.test.ts',
    title: 'whose body was read before is refused, and does not become the change',
  },
];
