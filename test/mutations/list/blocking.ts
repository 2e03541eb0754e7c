import type { Mutation } from '../mutation.ts';

const backlogs = 'history-slows-nothing';

/** The row of a lane says that none of its messages is retrying or blocked. */
export const blockingMutations: readonly Mutation[] = [
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
