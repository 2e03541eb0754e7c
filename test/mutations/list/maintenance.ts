import type { Mutation } from '../mutation.ts';

/** What is finished is archived, what is missing is started again, and processed ids are dropped by epochs. */
export const maintenanceMutations: readonly Mutation[] = [
  {
    name: 'every-database-knows-the-question',
    promise: 'second-database-detected',
    file: 'src/store/installation/twin.ts',
    find: 'select exists (select from answered) as known',
    replace: 'select true as known',
    test: 'test/faults/installation-twice.test.ts',
    title:
      'a relay of a clone refuses to start while the original runs, and starts once the clone has an id of its own',
  },
];
