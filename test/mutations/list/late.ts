import type { Mutation } from '../mutation.ts';

/** What happens amid a large late transaction. */
export const lateMutations: readonly Mutation[] = [
  {
    name: 'late-walk-never-ends-behind-a-full-batch',
    promise: 'one-bad-slows-no-other',
    file: 'src/relay/drain.ts',
    find: 'if (this.#at.late !== undefined) return this.#write(this.#plan(claimed, []));',
    replace: '',
    test: 'test/integration/relay/late-many.test.ts',
    title: 'a large late transaction whose last batch is full',
  },
  {
    name: 'late-walk-gives-up-too-soon',
    promise: 'one-bad-slows-no-other',
    file: 'outbox.late_are_dense()',
    find: 'reach := reach * 4;',
    replace: 'return false;',
    test: 'test/integration/relay/late-many.test.ts',
    title: 'a claim amid late messages that are few among others',
  },
];
