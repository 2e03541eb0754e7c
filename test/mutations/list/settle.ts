import type { Mutation } from '../mutation.ts';

/** A batch is published and settled, and its receipts come or do not. */
export const settleMutations: readonly Mutation[] = [
  {
    name: 'conflict-of-a-statement-not-repeated',
    promise: 'pooler-costs-speed-only',
    file: 'src/store/database/pool.ts',
    find: 'const triesInConflict = 10;',
    replace: 'const triesInConflict = 1;',
    test: 'test/integration/database/pool-isolation.test.ts',
  },
  {
    name: 'refused-message-skips-all-keys',
    promise: 'one-bad-slows-no-other',
    file: 'src/brokers/kafka/transport/partition-send.ts',
    find: 'if (key === null || !blockedKeys.has(key)) return true;',
    replace: 'if (key === null) return true;',
    test: 'test/unit/brokers/kafka/partition-send.test.ts',
  },
  {
    name: 'failure-rests-its-lane',
    promise: 'one-bad-slows-no-other',
    file: 'src/relay/drain.ts',
    find: 'this.#at = progressOf(settlement);',
    replace: `this.#at = progressOf(settlement);
    if (settlement.changes.some((change) => change.to === 'retrying')) await rest(600, this.#stop);`,
    test: 'test/invariants/isolation.test.ts',
    title:
      'I15 with a poison key, a topic that refuses everything and one on hold, other topics keep nine tenths of their rate',
  },
];
