import type { Mutation } from '../mutation.ts';

const told = 'An operator is told what is away';
const sql = 'SQL refuses what the library refuses';

/** What people and other languages see. */
export const faceMutations: readonly Mutation[] = [
  {
    name: 'wait-told-at-every-try',
    promise: 'A start waits for its servers',
    file: 'src/config/patience.ts',
    find: 'const sayEveryMs = 5_000;',
    replace: 'const sayEveryMs = 0;',
    test: 'test/integration/start-waits.test.ts',
    title: 'a relay without Temporal says what it waits for, asks twice a second',
    built: true,
  },
  {
    name: 'lane-with-work-is-quiet',
    promise: told,
    file: 'src/cli/status-command.ts',
    find: `if (lane.oldestDueMs === null && lane.ready === 0) return 'quiet';`,
    replace: `if (lane.hold === null) return 'quiet';`,
    test: 'test/integration/status-reachable.test.ts',
    title: 'status and show tell a relay that is missing from a Temporal that is away',
  },
  {
    name: 'dead-relay-lives-on',
    promise: told,
    file: 'src/store/relays.ts',
    find: 'export const relayStaleMs = 15_000;',
    replace: 'export const relayStaleMs = 15_000_000;',
    test: 'test/integration/status-reachable.test.ts',
    title: 'status and show tell a relay that is missing from a Temporal that is away',
  },
  {
    name: 'bad-json-stored-by-sql',
    promise: sql,
    file: 'outbox.form_refusal()',
    find: ' and not outbox.is_json(payload)',
    replace: ' and false',
    test: 'test/integration/write-sql.test.ts',
    title: 'plain SQL raises OB002 for',
  },
  {
    name: 'negative-delay-stored-by-sql',
    promise: sql,
    file: 'outbox.form_refusal()',
    find: 'not between 0 and 1e15',
    replace: 'not between -1e15 and 1e15',
    test: 'test/integration/write-sql.test.ts',
    title: 'plain SQL raises OB002 for',
  },
  {
    name: 'query-without-a-transaction-taken',
    promise: sql,
    file: 'src/store/transaction.ts',
    find: 'if (!unproven.has(tx)) return',
    replace: 'if (!unproven.has(tx) || run.length > 0) return',
    test: 'test/integration/write-root-client.test.ts',
    title: 'a query without an open transaction is refused by every call',
  },
];
