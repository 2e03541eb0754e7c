import type { Mutation } from '../mutation.ts';

const neverEarly = 'Never early (I6)';
const test = 'test/integration/relay/waiting.test.ts';

/** A message waits for its time. */
export const waitingMutations: readonly Mutation[] = [
  {
    name: 'release-early',
    promise: neverEarly,
    file: 'src/store/message/release.ts',
    find: `state::text in ('waiting', 'retrying') and due_at <= outbox.clock()`,
    replace: `state::text in ('waiting', 'retrying') and due_at <= outbox.clock() + interval '50 ms'`,
    test,
    title: 'a message is released at its due time, not 30 ms earlier',
  },
  {
    name: 'release-places-by-position',
    promise: 'Order per key (I3)',
    file: 'src/store/message/release.ts',
    find: 'from (select * from due order by due_at, position) d',
    replace: 'from (select * from due order by position) d',
    test,
    title: 'two delayed messages of one key that',
  },
  {
    name: 'sweep-early',
    promise: neverEarly,
    file: 'outbox.sweep()',
    find: 'and m.due_at <= outbox.clock() and m.due_at >=',
    replace: `and m.due_at <= outbox.clock() + interval '50 ms' and m.due_at >=`,
    test,
    title: 'a message is released at its due time, not 30 ms earlier',
  },
  {
    name: 'sweep-waits-for-locks',
    promise: 'Lateness is bounded (I7)',
    file: 'outbox.sweep()',
    find: 'limit p_limit for update skip locked',
    replace: 'limit p_limit for update',
    test,
    title: 'a sweep releases the longest overdue messages first and skips locked ones',
  },
  {
    name: 'look-begins-behind-what-was-committed-late',
    promise: 'Lateness is bounded (I7)',
    file: 'outbox.look()',
    find: 'ceil(extract(epoch from least(one.due, min(x.due) over ())',
    replace: 'ceil(extract(epoch from least(one.due, null)',
    test: 'test/integration/relay/due-edge.test.ts',
    title: 'a message that commits late is released at once, although everything due before it is released',
  },
  {
    name: 'sweep-never-releases-the-locked',
    promise: 'Lateness is bounded (I7)',
    file: 'src/store/lane/due-edge.ts',
    find: 'return now >= this.#restsUntil ? null : this.#from;',
    replace: 'return this.#from;',
    test: 'test/integration/relay/due-edge.test.ts',
    title: 'a message that a slow transaction has moved to an earlier time is released within two seconds',
  },
  {
    name: 'sweep-after-two-seconds',
    promise: 'Lateness is bounded (I7)',
    file: 'src/store/message/release.ts',
    find: 'const graceMs = 200;',
    replace: 'const graceMs = 2_000;',
    test,
    title: 'the sweep leaves a message to its workflow for 200 ms',
  },
  {
    name: 'cancel-in-temporal-leaves-the-row',
    promise: `Every operator's action is audited (I14)`,
    file: 'workflows/deliver-message.ts',
    find: `if ((await cancelMessage(id)) === 'canceled') throw`,
    replace: `if (id !== '' || (await cancelMessage(id)) === 'canceled') throw`,
    test: 'test/integration/temporal/cancel.test.ts',
    title: 'Cancel in the Temporal UI cancels the message, and the audit records it',
    built: true,
  },
];
