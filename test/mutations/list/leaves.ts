import type { Mutation } from '../mutation.ts';

/** Messages in the log and beside it, and the life of a leaf. */
export const leafMutations: readonly Mutation[] = [
  {
    name: 'adopted-copy-sends-as-its-original',
    promise: 'second-database-detected',
    file: 'src/store/installation/adopt.ts',
    find: `  await sql.query('select outbox.grant_log(), outbox.write_store()');\n`,
    replace: '',
    test: 'test/integration/database/adopt.test.ts',
    title: 'a copy with a new installation sends with workflow ids of its own',
  },
];
