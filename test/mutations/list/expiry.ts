import type { Mutation } from '../mutation.ts';

const migration = 'prisma/migrations/20261121000000_outbox/migration.sql';

/** Messages that expire, that are replaced within limits, and that are canceled by key. */
export const expiryMutations: readonly Mutation[] = [
  {
    name: 'index-lacks-the-not-published-before',
    promise: 'history-slows-nothing',
    file: migration,
    find: 'expires_at is not null and published_at is null;',
    replace: 'expires_at is not null and sends = 0;',
    test: 'test/integration/receipts/plans.test.ts',
    title: 'the search for expired messages reads no blocked ones',
  },
];
