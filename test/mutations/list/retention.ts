import type { Mutation } from '../mutation.ts';

/** What is dropped or archived although somebody needs it. */
export const retentionMutations: readonly Mutation[] = [
  {
    name: 'failure-archived-before-it-is-told',
    promise: 'on-failed-called-once',
    file: 'src/store/retention/archive.ts',
    find: ' or m.notified is not false or ',
    replace: ' or true or ',
    test: 'test/integration/database/archive-untold.test.ts',
    title: 'a failed message of which a relay is yet to tell stays until it was told',
  },
];
