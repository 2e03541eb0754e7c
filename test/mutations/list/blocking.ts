import type { Mutation } from '../mutation.ts';

const order = 'order-per-key';
const backlogs = 'history-slows-nothing';

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
    file: 'outbox.none_left()',
    find: 'pg_visible_in_snapshot(p_last, p_snapshot) is true',
    replace: 'p_snapshot is not null',
    test: 'test/integration/relay/unblocked-lanes.test.ts',
    title: 'does not hide',
  },
  {
    name: 'lane-change-brings-retries-unnamed',
    promise: order,
    file: 'src/store/lane/lanes-switch.ts',
    find: 'on conflict (topic, n) do update set blocking_xid = pg_current_xact_id(), failed_xid = pg_current_xact_id()',
    replace: 'on conflict do nothing',
    test: 'test/integration/relay/unblocked-lanes.test.ts',
    title: 'in another lane keeps its key back in the one that it comes to by a change',
  },
  {
    name: 'failure-unnamed-in-its-lane',
    promise: order,
    file: 'src/store/lane/settle.ts',
    find: "changes.some(({ to }) => to === 'failed')",
    replace: 'false',
    test: 'test/integration/relay/unfailed-lanes.test.ts',
    title: 'where nothing has failed, a message that fails keeps its key back',
  },
  {
    name: 'given-up-unnamed-in-its-lane',
    promise: order,
    file: 'src/store/message/confirm-overdue.ts',
    find: 'update outbox.lane l set failed_xid = pg_current_xact_id() from lanes where',
    replace: 'update outbox.lane l set failed_xid = l.failed_xid from lanes where',
    test: 'test/integration/relay/unfailed-lanes.test.ts',
    title: 'a message that is given up between a claim that found nothing failed and its settle',
  },
  {
    name: 'giving-up-waits-for-a-settle',
    promise: 'one-bad-slows-no-other',
    file: 'src/store/message/confirm-overdue.ts',
    find: 'order by l.n for update skip locked',
    replace: 'order by l.n for update',
    test: 'test/integration/relay/unfailed-lanes.test.ts',
    title: 'what is to be given up waits for no settle of its lane',
  },
  {
    name: 'claims-ask-for-failed-ones-for-ever',
    promise: backlogs,
    file: 'outbox.write_claim()',
    find: 'or p_failed_blocks and failed_xid is not null and not',
    replace: 'or p_failed_blocks and not',
    test: 'test/integration/relay/old-snapshots.test.ts',
    title: 'any more, costs as little behind',
  },
  {
    name: 'claims-always-look-for-retries',
    promise: backlogs,
    file: 'src/store/lane/blocking-looks.ts',
    find: 'return now >=',
    replace: 'return true || now >=',
    test: 'test/integration/relay/old-snapshots.test.ts',
    title: 'only the first of several claims reads the',
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
