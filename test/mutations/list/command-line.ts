import type { Mutation } from '../mutation.ts';

const byNames = 'test/unit/operations/known-names.test.ts';

/** What the command line says of wrong arguments. */
export const commandLineMutations: readonly Mutation[] = [
  {
    name: 'limited-caller-told-of-other-topics',
    promise: 'api-shows-nothing-without-right',
    file: 'src/api/known.ts',
    find: 'return scope.limited ? work()',
    replace: 'return scope.limited && named === undefined ? work()',
    test: byNames,
    title: 'over HTTP tells the names to a caller that sees all topics, and to no other',
  },
];
