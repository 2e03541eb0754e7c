import type { Mutation } from '../mutation.ts';

/** The row of a lane says that none of its messages is retrying or blocked. */
export const blockingMutations: readonly Mutation[] = [
  {
    name: 'giving-up-waits-for-a-settle',
    promise: 'one-bad-slows-no-other',
    file: 'src/store/message/confirm-overdue.ts',
    find: 'order by l.n for update skip locked',
    replace: 'order by l.n for update',
    test: 'test/integration/relay/unfailed-lanes.test.ts',
    title: 'what is to be given up waits for no settle of its lane',
  },
];
