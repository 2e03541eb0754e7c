import type { Mutation } from '../mutation.ts';

const neverEarly = 'never-early';
const test = 'test/integration/relay/waiting.test.ts';
const orderTest = 'test/integration/relay/release-order.test.ts';

/** A message waits for its time. */
export const waitingMutations: readonly Mutation[] = [
  {
    name: 'release-early',
    promise: neverEarly,
    file: 'outbox.release_due()',
    find: 'and m.due_at <= outbox.clock()',
    replace: `and m.due_at <= outbox.clock() + interval '50 ms'`,
    test,
    title: 'a message is released at its due time, not 30 ms earlier',
  },
  {
    name: 'release-leaves-earlier-ones-behind',
    promise: 'on-time',
    file: 'outbox.release_due()',
    find: 'order by w.due_at, w.position limit k.asked_for + 100',
    replace: 'where w.id = any(p_ids) order by w.due_at, w.position limit k.asked_for + 100',
    test: orderTest,
    title: 'a workflow releases the earlier due messages of its key, too, and no later ones',
  },
  {
    name: 'sweep-stops-at-what-is-behind-a-lock',
    promise: 'one-bad-slows-no-other',
    file: 'outbox.sweep()',
    find: 'exit when not is_full or released * 2 >= p_limit',
    replace: 'exit when true',
    test: orderTest,
    title: 'messages behind a locked one do not use up the limit of a sweep, and the next one finds them',
  },
  {
    name: 'sweep-early',
    promise: neverEarly,
    file: 'outbox.sweep_part()',
    find: 'and m.due_at <= outbox.clock() and m.due_at >=',
    replace: `and m.due_at <= outbox.clock() + interval '50 ms' and m.due_at >=`,
    test,
    title: 'a message is released at its due time, not 30 ms earlier',
  },
  {
    name: 'sweep-waits-for-locks',
    promise: 'on-time',
    file: 'outbox.sweep_part()',
    find: 'limit p_limit for update skip locked',
    replace: 'limit p_limit for update',
    test,
    title: 'a sweep releases the longest overdue messages first and skips locked ones',
  },
  {
    name: 'look-begins-behind-what-was-committed-late',
    promise: 'on-time',
    file: 'outbox.look()',
    find: 'ceil(extract(epoch from least(one.due, min(x.due) over ())',
    replace: 'ceil(extract(epoch from least(one.due, null)',
    test: 'test/integration/relay/due-edge.test.ts',
    title: 'a message that commits late is released at once, although everything due before it is released',
  },
  {
    name: 'sweep-never-releases-the-locked',
    promise: 'on-time',
    file: 'src/store/lane/due-edge.ts',
    find: 'return now >= this.#restsUntil ? null : this.#from;',
    replace: 'return this.#from;',
    test: 'test/integration/relay/due-edge.test.ts',
    title: 'a message that a slow transaction has moved to an earlier time is released within two seconds',
  },
  {
    name: 'sweep-after-two-seconds',
    promise: 'on-time',
    file: 'src/store/message/release.ts',
    find: 'const graceMs = 200;',
    replace: 'const graceMs = 2_000;',
    test,
    title: 'the sweep leaves a message to its workflow for 200 ms',
  },
  {
    name: 'cancel-in-temporal-leaves-the-row',
    promise: 'actions-audited',
    file: 'workflows/deliver-message.ts',
    find: `if ((await cancelMessage(id)) === 'canceled') throw`,
    replace: `if (id !== '' || (await cancelMessage(id)) === 'canceled') throw`,
    test: 'test/integration/temporal/cancel.test.ts',
    title: 'Cancel in the Temporal UI cancels the message, and the audit records it',
    built: true,
  },
];
