import type { Mutation } from '../mutation.ts';

const orderTest = 'test/integration/relay/release-order.test.ts';

/** A message waits for its time. */
export const waitingMutations: readonly Mutation[] = [
  {
    name: 'sweep-stops-at-what-is-behind-a-lock',
    promise: 'one-bad-slows-no-other',
    file: 'outbox.sweep()',
    find: 'exit when not is_full or released * 2 >= p_limit',
    replace: 'exit when true',
    test: orderTest,
    title: 'messages behind a locked one do not use up the limit of a sweep, and the next one finds them',
  },
];
