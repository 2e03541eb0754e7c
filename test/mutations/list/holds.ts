import type { Mutation } from '../mutation.ts';

export const holdMutations: readonly Mutation[] = [
  {
    name: 'offset-beyond-its-column',
    promise: 'one-bad-slows-no-other',
    file: 'src/relay/plan-settlement.ts',
    find: ' && BigInt(offset) <= mostOffset',
    replace: '',
    test: 'test/unit/relay/plan-settlement.test.ts',
    title: 'that is larger than a column for offsets holds',
  },
];
