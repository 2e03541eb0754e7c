import type { Mutation } from '../mutation.ts';

const neverEarly = 'Never early (I6)';
const test = 'test/integration/relay-waiting.test.ts';

/** A message waits for its time. */
export const waitingMutations: readonly Mutation[] = [
  {
    name: 'release-early',
    promise: neverEarly,
    file: 'src/store/release.ts',
    find: `state::text in ('waiting', 'retrying') and due_at <= outbox.clock() for update`,
    replace: `state::text in ('waiting', 'retrying') and due_at <= outbox.clock() + interval '50 ms' for update`,
    test,
    title: 'nothing is released 30 ms before its time',
  },
  {
    name: 'sweep-early',
    promise: neverEarly,
    file: 'src/store/release.ts',
    find: `where m.state in ('waiting', 'retrying') and m.due_at <= outbox.clock()`,
    replace: `where m.state in ('waiting', 'retrying') and m.due_at <= outbox.clock() + interval '50 ms'
         and m.topic = any($1) or m.due_at <= outbox.clock()`,
    test,
    title: 'nothing is released 30 ms before its time',
  },
  {
    name: 'sweep-waits-for-locks',
    promise: 'Lateness is bounded (I7)',
    file: 'src/store/release.ts',
    find: 'order by m.due_at, m.position limit $2 for update skip locked',
    replace: 'order by m.due_at, m.position limit $2 for update',
    test,
    title: 'a sweep takes the longest overdue first, and passes by what a transaction has locked',
  },
  {
    name: 'sweep-after-two-seconds',
    promise: 'Lateness is bounded (I7)',
    file: 'src/store/release.ts',
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
    test: 'test/integration/temporal-cancel.test.ts',
    title: 'Cancel in the Temporal UI cancels the message, and the audit says so',
    built: true,
  },
];
