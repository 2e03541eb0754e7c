import type { Mutation } from '../mutation.ts';

const order = 'Order per key (I3)';
const backlogs = 'Backlogs and history slow nothing down';

/** The row of a lane says that none of its messages is retrying or blocked. */
export const blockingMutations: readonly Mutation[] = [
  {
    name: 'retry-unnamed-in-its-lane',
    promise: order,
    file: 'src/store/lane/settle.ts',
    find: "({ to }) => to === 'retrying' || to === 'blocked'",
    replace: "({ to }) => to === 'blocked'",
    test: 'test/integration/relay/unblocked-lanes.test.ts',
    title: 'where nothing has blocked, a message that begins to retry keeps its key back',
  },
  {
    name: 'look-before-a-retry-counts',
    promise: order,
    file: 'outbox.lane_unblocked()',
    find: 'pg_visible_in_snapshot(l.blocking_xid, p_snapshot) is true',
    replace: 'p_snapshot is not null',
    test: 'test/integration/relay/unblocked-lanes.test.ts',
    title: 'does not hide',
  },
  {
    name: 'lane-change-brings-retries-unnamed',
    promise: order,
    file: 'src/store/lane/lanes-switch.ts',
    find: 'on conflict (topic, n) do update set blocking_xid = pg_current_xact_id()',
    replace: 'on conflict do nothing',
    test: 'test/integration/relay/unblocked-lanes.test.ts',
    title:
      'a message that retries in another lane keeps its key back in the one that it comes to by a change',
  },
  {
    name: 'claims-always-look-for-retries',
    promise: backlogs,
    file: 'src/store/lane/blocking-looks.ts',
    find: 'return now >=',
    replace: 'return true || now >=',
    test: 'test/integration/relay/old-snapshots.test.ts',
    title:
      'beside a message that is retrying, only the first of several claims reads those that were retried before',
  },
  {
    name: 'lane-never-found-unblocked',
    promise: backlogs,
    file: 'src/relay/plan-settlement.ts',
    find: '...(claim.unblocked && { unblocked: true }),',
    replace: '',
    test: 'test/integration/database/adopt-replicated.test.ts',
    title: 'and once it is over its lane finds that nothing blocks',
  },
];
