import type { Mutation } from '../mutation.ts';

const once = 'repeated-request-acts-once';
const byRequests = 'test/integration/api/requests.test.ts';

/** Requests of the HTTP API with an Idempotency-Key. */
export const repeatedRequestMutations: readonly Mutation[] = [
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
    name: 'api-key-whatever-the-version',
    promise: once,
    file: 'src/api/once.ts',
    find: "    request.headers.get('if-match'),\n",
    replace: '',
    test: byRequests,
    title: 'the version that a request asks for is a part of it',
  },
  {
    name: 'api-key-whatever-the-topics',
    promise: once,
    file: 'src/api/once.ts',
    find: '    caller.topics?.toSorted(),\n',
    replace: '',
    test: 'test/integration/api/repeats.test.ts',
    title: 'the answer to a caller is not told to one of its name',
  },
  {
    name: 'api-answer-not-stored',
    promise: once,
    file: 'src/app/operations/answer-once.ts',
    find: 'else await storeAnswer(at, request, answer);',
    replace: 'else await leaveRequest(at, request);',
    test: byRequests,
    title: 'a repeat with the same key gets the first answer, and changes nothing again',
  },
  {
    name: 'api-equal-requests-all-act',
    promise: once,
    file: 'src/store/request/request.ts',
    find: 'and (r.taken_until is null or r.taken_until < clock_timestamp())',
    replace: 'and r.created_at is not null',
    test: 'test/integration/api/repeats.test.ts',
    title: 'of equal requests at once that wait for relays one acts',
  },
  {
    name: 'api-busy-stored',
    promise: once,
    file: 'src/api/answer.ts',
    find: 'unfinished: errorRules[code].retryable',
    replace: 'unfinished: errorRules[code].retryable && status < 400',
    test: 'test/integration/api/repeats.test.ts',
    title: 'a refusal because somebody has the message in hand is not the answer of its key',
  },
  {
    name: 'api-change-locks-while-it-waits',
    promise: once,
    file: 'src/store/database/within-one.ts',
    find: '    inOne: true,\n',
    replace: '',
    test: 'test/integration/api/one-transaction.test.ts',
    title: 'while a change waits for a message in other hands, it locks none of its others',
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
