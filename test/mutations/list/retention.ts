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
  {
    name: 'step-of-a-leaf-queues-behind-a-dump',
    promise: 'archive-blocks-nothing',
    file: 'src/store/retention/brief-lock.ts',
    find: '  if (await areHeldLong(database, tables)) return false;\n',
    replace: '',
    test: 'test/integration/database/leaf-held.test.ts',
    title: 'a step of a leaf that somebody reads for long lets others lock its table at once',
  },
];
