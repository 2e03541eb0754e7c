import type { Mutation } from '../mutation.ts';

const noLoss = 'no-loss';

/** What is dropped or archived although somebody needs it. */
export const retentionMutations: readonly Mutation[] = [
  {
    name: 'leaf-dropped-by-its-row-alone',
    promise: noLoss,
    file: 'src/store/retention/leaf.ts',
    find: 'behind = parents.some((name) => !from.includes(name));',
    replace: 'behind = false;',
    test: 'test/integration/database/leaf-rows.test.ts',
    title: 'a leaf that is archived by its row alone, a child of ',
  },
  {
    name: 'adopted-leaf-as-its-original-said',
    promise: noLoss,
    file: 'src/store/installation/adopt.ts',
    find: '  await followTables(sql);\n',
    replace: '',
    test: 'test/integration/database/adopt-replicated.test.ts',
    title:
      'what was sent to a leaf of a copy that its original had archived is delivered, and the leaf goes through all steps again',
  },
  {
    name: 'adoption-leaves-epochs-as-they-came',
    promise: 'window-kept',
    file: 'src/store/installation/adopt.ts',
    find: '    await renewInbox(sql);\n',
    replace: '',
    test: 'test/integration/database/adopt-epochs.test.ts',
    title:
      'a copy whose original began an epoch of processed ids meanwhile stores them in that once it is adopted',
  },
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
