import type { Mutation } from '../mutation.ts';

const refused = 'Invalid arguments are refused where they are passed';

/** What the command line says of wrong arguments. */
export const commandLineMutations: readonly Mutation[] = [
  {
    name: 'refusal-names-what-was-refused',
    promise: refused,
    file: 'src/operations/what-remains.ts',
    find: "if (action === 'cancel' || action === 'withdraw') {",
    replace: "if (action === 'withdraw') {",
    test: 'test/unit/cli/refusals-in-words.test.ts',
    title: 'message that cannot be canceled is not said to be ended by cancel',
  },
];
