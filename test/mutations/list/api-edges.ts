import type { Mutation } from '../mutation.ts';

const rights = 'api-shows-nothing-without-right';

/** What callers of the HTTP API can do to others, and are told of them. */
export const apiEdgeMutations: readonly Mutation[] = [
  {
    name: 'audit-denies-what-there-is-not',
    promise: rights,
    file: 'src/api/scope.ts',
    find: 'if (topic === undefined && this.limited) throw unknown;',
    replace: '',
    test: 'test/integration/api/rights.test.ts',
    title:
      'the audit has what a caller named of another topic, by id or by ref, and nothing that does not exist',
  },
  {
    name: 'audit-denies-topics-that-there-are-not',
    promise: rights,
    file: 'src/api/answer.ts',
    find: 'if (named && (await unknownNames(at, { topic })) !== undefined) return;',
    replace: '',
    test: 'test/integration/api/rights.test.ts',
    title:
      'the audit has what a caller named of another topic, by id or by ref, and nothing that does not exist',
  },
  {
    name: 'error-text-found-by-trying',
    promise: rights,
    file: 'src/api/scope.ts',
    find: 'if (filter.error !== undefined && !this.#payloads)',
    replace: 'if (filter.error === "")',
    test: 'test/integration/api/untold-errors.test.ts',
    title: 'without the right nobody finds by trying what an error text has',
  },
  {
    name: 'hold-quotes-a-body',
    promise: rights,
    file: 'src/brokers/http/transport/answer-class.ts',
    find: 'const reason = `${server} answered ${status} (',
    replace: 'const reason = `${answerReason(answer, server, hidden)} (',
    test: 'test/unit/brokers/http/answers.test.ts',
    title: 'a hold repeats nothing of the body',
  },
  {
    name: 'look-locks-its-key',
    promise: rights,
    file: 'src/store/inbox/show.ts',
    find: 'from outbox.parked_key k where k.id = p.key_id) as "parkedKey"',
    replace:
      'from (select * from outbox.parked_key for share skip locked) k where k.id = p.key_id) as "parkedKey"',
    test: 'test/integration/api/reads.test.ts',
    title: 'every GET of the table answers for every message, and neither writes nor locks a row',
  },
  {
    name: 'viewer-is-told-errors',
    promise: rights,
    file: 'src/app/operations/served-operations.ts',
    find: 'return payloads ? at : withUntoldErrors(at);',
    replace: 'return payloads ? at : at;',
    test: 'test/integration/api/untold-errors.test.ts',
    title: 'no error text is told without the right to payloads, whatever is asked; its class is',
  },
  {
    name: 'deep-payload-fails-the-server',
    promise: rights,
    file: 'src/outbox/unwritable-value.ts',
    find: 'if (path.length === deepest)',
    replace: 'if (path.length < 0)',
    test: 'test/integration/api/hostile-requests.test.ts',
    title: 'no request makes the server fail, whatever its path, query, head and body',
  },
  {
    name: 'sibling-site-may-change',
    promise: rights,
    file: 'src/api/same-origin.ts',
    find: "site === 'same-origin') return;",
    replace: "site !== 'cross-site') return;",
    test: 'test/integration/api/attacks.test.ts',
    title: 'every attack is refused by its status, changes and locks nothing, and is told no secret',
  },
];
