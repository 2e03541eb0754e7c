import type { Mutation } from '../mutation.ts';

const hazards = 'test/integration/relay/late-hazards.test.ts';

/** What happens amid a large late transaction. */
export const lateMutations: readonly Mutation[] = [
  {
    name: 'amid-late-what-is-sent-is-withdrawn',
    promise: 'cancel-holds',
    file: 'outbox.is_passed()',
    find: 'or coalesce(p_position <= p_late_cursor',
    replace: 'or coalesce(p_late_cursor < 0',
    test: hazards,
    title: 'amid a late transaction what is sent is too late to withdraw',
  },
  {
    name: 'amid-late-a-cancel-of-a-key-spares-blocked',
    promise: 'cancel-holds',
    file: 'outbox.cancel_key()',
    find: `m.state in ('waiting', 'retrying', 'blocked')`,
    replace: `m.state in ('waiting', 'retrying')`,
    test: hazards,
    title: 'a cancel of a key amid a late transaction',
  },
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
