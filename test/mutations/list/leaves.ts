import type { Mutation } from '../mutation.ts';

const noLoss = 'No loss (I1)';
const once = 'Duplicates are bounded (I11)';

const leaves = 'test/integration/database/leaves.test.ts';
const log = 'test/integration/database/log.test.ts';
const late = 'the first transaction that a claim could not see is read by the next one';
const work = 'a lane has work beyond its cursor, and behind it what its snapshot could not see';

/** Messages in the log and beside it, and the life of a leaf. */
export const leafMutations: readonly Mutation[] = [
  {
    name: 'claim-beside-the-log-without-the-first-late-id',
    promise: noLoss,
    file: 'outbox.claimable()',
    find: 'm.xid >= pg_snapshot_xmax(p_snapshot)',
    replace: 'm.xid > pg_snapshot_xmax(p_snapshot)',
    test: 'test/integration/relay/late-commits.test.ts',
    title: late,
  },
  {
    name: 'claim-beside-the-log-without-ids-in-progress',
    promise: noLoss,
    file: 'outbox.claimable()',
    find: 'r.xid = running.xid',
    replace: 'false',
    test: 'test/integration/relay/late-commits.test.ts',
    title: late,
  },
  {
    name: 'claim-of-the-log-alone',
    promise: noLoss,
    file: 'outbox.write_claim()',
    find: 'into owned, exceptions;',
    replace: 'into owned, exceptions; exceptions := false;',
    test: 'test/integration/relay/late-commits.test.ts',
    title: 'many late transactions are each read once, whatever the order of their commits',
  },
  {
    name: 'late-work-in-the-log-unseen',
    promise: 'Lateness is bounded (I7)',
    file: 'outbox.has_work()',
    find: `select m.id from outbox.log m where m.topic = p_lane.topic and m.lane = p_lane.n and m.state = 'ready'
      and m.position + 0`,
    replace: `select m.id from outbox.log m where m.topic = p_lane.topic and m.lane = p_lane.n and m.state = 'ready' and false
      and m.position + 0`,
    test: 'test/integration/relay/news-of-lanes.test.ts',
    title: work,
  },
  {
    name: 'late-work-beside-the-log-unseen',
    promise: 'Lateness is bounded (I7)',
    file: 'outbox.has_work()',
    find: `select from only outbox.message m where m.topic = p_lane.topic and m.lane = p_lane.n and m.state = 'ready'
        and m.xid = running.xid`,
    replace: `select from only outbox.message m where m.topic = p_lane.topic and m.lane = p_lane.n and m.state = 'ready'
        and false`,
    test: 'test/integration/relay/news-of-lanes.test.ts',
    title: work,
  },
  {
    name: 'look-overlooks-late-messages-of-the-log',
    promise: 'Lateness is bounded (I7)',
    file: 'outbox.look()',
    find: 'select * from outbox.log r where r.position > 0 and r.xid = running.xid',
    replace: 'select * from outbox.log r where r.position > 0 and false',
    test: 'test/integration/relay/news-of-lanes.test.ts',
    title: 'a look finds what the snapshot of the last one could not see',
  },
  {
    name: 'taken-out-as-news',
    promise: once,
    file: 'outbox.take_out()',
    find: 't.position, t.xid,',
    replace: 't.position, pg_current_xact_id(),',
    test: log,
    title: 'a published message that is to be withdrawn stays published, and is not sent again',
  },
  {
    name: 'settle-changes-nothing-in-the-log',
    promise: noLoss,
    file: 'src/store/lane/settle.ts',
    find: '  await applyChanges(sql, lane, others);\n',
    replace: '',
    test: 'test/unit/store/settle.test.ts',
    title: 'messages that are not found are taken out of the log and changed then',
  },
  {
    name: 'awaited-receipts-in-the-log',
    promise: 'A confirmed message was processed',
    file: 'outbox.write_store()',
    find: 't.name = p_topic and t.confirm_group is null and',
    replace: 't.name = p_topic and',
    test: log,
    title: 'messages that can go now lie in the log, all others in the table',
  },
  {
    name: 'awaited-receipts-of-a-batch-in-the-log',
    promise: 'A confirmed message was processed',
    file: 'outbox.write_store()',
    find: 'if dues is null and policy.confirm_group is null then',
    replace: 'if dues is null then',
    test: log,
    title: 'messages that can go now lie in the log, all others in the table',
  },
  {
    name: 'leaf-sealed-beside-open-transactions',
    promise: noLoss,
    file: 'src/store/retention/leaf.ts',
    find: 'return row?.left === 0;',
    replace: 'return row !== undefined;',
    test: leaves,
    title: 'a transaction that has read the functions and not sent yet holds the old leaf, too',
  },
  {
    name: 'leaf-passed-by-what-was-true-before-the-lock',
    promise: noLoss,
    file: 'src/store/retention/leaf.ts',
    find: '    if (!(await isLeafPassed(sql, n))) return;\n',
    replace: '',
    test: 'test/integration/lanes/prepared.test.ts',
    title:
      'a leaf of the log stays for a prepared transaction that is committed while the leaf is about to be passed',
  },
  {
    name: 'leaf-passed-before-its-late-messages',
    promise: noLoss,
    file: 'outbox.lanes_of_leaf()',
    find: 'm.xid >= pg_snapshot_xmin(l.snapshot) and not pg_visible_in_snapshot(m.xid, l.snapshot)',
    replace: 'false',
    test: leaves,
    title: 'a leaf stays for a message that was committed behind the cursor of its lane',
  },
  {
    name: 'leaf-passed-before-its-end',
    promise: noLoss,
    file: 'outbox.lanes_of_leaf()',
    find: 'last.position <= l.cursor',
    replace: 'true',
    test: leaves,
    title: 'a leaf stays while a lane has seen messages there that it has not sent yet',
  },
  {
    name: 'leaf-held-by-a-paused-lane',
    promise: 'Backlogs and history slow nothing down',
    file: 'src/store/retention/leaves.ts',
    find: '    if (index < closed.length - mostClosed) await clearLeaf(database, n, pace);\n',
    replace: '',
    test: leaves,
    title:
      'a lane that stays behind for nine leaves does not keep the first one: its messages move beside the log, in order',
  },
  {
    name: 'leaf-cleared-without-late-messages',
    promise: 'Backlogs and history slow nothing down',
    file: 'src/store/retention/leaf.ts',
    find: 'and m.position + 0 <= l.cursor and m.xid >= pg_snapshot_xmin(l.snapshot)',
    replace: 'and false and m.xid >= pg_snapshot_xmin(l.snapshot)',
    test: leaves,
    title:
      'a lane that stays behind for nine leaves does not keep the first one: its messages move beside the log, in order',
  },
  {
    name: 'suspected-leaf-archived-at-once',
    promise: 'The window is kept (I12)',
    file: 'src/store/retention/leaf.ts',
    find: 'lane.suspected ? lane.suspectUpTo : lane.upTo',
    replace: 'lane.upTo',
    test: 'test/integration/database/archive.test.ts',
    title:
      'messages visible to a dead owner stay for a day after they were passed, even where archiving is sooner',
  },
  {
    name: 'batches-expire-before-their-leaf',
    promise: 'The archive blocks nothing',
    file: 'src/store/retention/deletes.ts',
    find: '         and b.published_at < (select min(f.opened_at) from outbox.leaf f)\n',
    replace: '',
    test: leaves,
    title: 'records of batches stay as long as an archived leaf has their messages',
  },
  {
    name: 'new-leaf-for-its-owner-alone',
    promise: 'The archive blocks nothing',
    file: 'outbox.next_leaf()',
    find: '  perform outbox.grant_log();\n',
    replace: '',
    test: 'test/integration/database/leaf-grants.test.ts',
    title: 'who may insert messages may send to a new leaf',
  },
  {
    name: 'id-of-an-archived-leaf-sent-again',
    promise: 'No ghost (I2)',
    file: 'outbox.take_back_archived()',
    find: 'select from outbox.log_history a where a.id = g.id limit 1',
    replace: 'select from outbox.log_history a where a.id = g.id and false limit 1',
    test: log,
    title: 'an id that a message of the log has is a repeat, or refused, in every leaf',
  },
  {
    name: 'adopted-copy-sends-as-its-original',
    promise: 'Two running databases of one installation are detected',
    file: 'src/store/installation/adopt.ts',
    find: `  await sql.query('select outbox.grant_log(), outbox.write_store()');\n`,
    replace: '',
    test: 'test/integration/database/adopt.test.ts',
    title: 'a copy with a new installation sends with workflow ids of its own',
  },
];
