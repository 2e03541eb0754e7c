import type { Mutation } from '../mutation.ts';

const old = 'A hold is as old as its cause';
const reported = 'The end of every reported hold is reported';
const owners = 'test/integration/relay/hold-owners.test.ts';

export const holdMutations: readonly Mutation[] = [
  {
    name: 'holds-of-lanes-that-are-given-up-never-end',
    promise: reported,
    file: 'src/relay/own-hold.ts',
    find: `if (this.#reported) report({ type: 'hold-ended',`,
    replace: `if (this.#reported && over) report({ type: 'hold-ended',`,
    test: 'test/integration/relay/partial-batch.test.ts',
    title: 'giving up a lane on hold reports the end of the hold, and the next owner reports its own',
  },
  {
    name: 'each-owner-records-a-duration-of-a-hold',
    promise: reported,
    file: 'src/app/relay/relay-metrics.ts',
    find: 'if (!event.over) return undefined;',
    replace: '',
    test: 'test/unit/app/relay-metrics.test.ts',
  },
  {
    name: 'next-owner-begins-the-hold-anew',
    promise: old,
    file: 'src/store/lane/lease.ts',
    find: `coalesce(l.hold -> 'since', to_jsonb(clock_timestamp()))`,
    replace: 'to_jsonb(clock_timestamp())',
    test: owners,
    title: 'a hold outlives its owner, however that ends',
  },
  {
    name: 'lane-is-freed-without-its-hold',
    promise: old,
    file: 'src/store/lane/lease.ts',
    find: 'hold = case when $5 then hold end',
    replace: 'hold = case when $5 and false then hold end',
    test: 'test/integration/alerts/told.test.ts',
    title: 'a topic whose broker is away is told once',
  },
  {
    name: 'withdrawal-ends-the-hold',
    promise: old,
    file: 'src/operations/withdraw.ts',
    find: 'this.#owner, false, true);',
    replace: 'this.#owner, false, false);',
    test: owners,
    title: 'an operator who withdraws a message from a lane on hold changes nothing of the hold',
  },
  {
    name: 'hold-outlasts-a-successful-publish',
    promise: old,
    file: 'src/relay/drain.ts',
    find: 'await this.#ownHold.end();',
    replace: 'void this.#ownHold;',
    test: owners,
    title: 'without a relay a hold stays, and the next owner ends it as soon as a message is',
  },
  {
    name: 'expired-message-ends-a-hold',
    promise: old,
    file: 'src/relay/publish-batch.ts',
    find: `outcome !== undefined && outcome.kind !== 'expired'`,
    replace: 'outcome !== undefined',
    test: 'test/unit/relay/drain-batches.test.ts',
    title: 'a hold of an earlier owner ends with the first message that is sent',
  },
  {
    name: 'hold-without-messages-stays-for-good',
    promise: old,
    file: 'outbox.want_lanes()',
    find: 'or l.hold is not null or outbox.has_work(l)',
    replace: 'or outbox.has_work(l)',
    test: owners,
    title: 'a hold for which nothing waits any more gets its lane an owner',
  },
];
