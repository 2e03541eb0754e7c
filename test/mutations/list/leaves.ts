import type { Mutation } from '../mutation.ts';

const leaves = 'test/integration/database/leaves.test.ts';
const log = 'test/integration/database/log.test.ts';
const plans = 'test/integration/database/leaf-plans.test.ts';
const adopted =
  'after adoption what the log had published is listed, replayed, dated and confirmed as before, and is not sent again';

/** Messages in the log and beside it, and the life of a leaf. */
export const leafMutations: readonly Mutation[] = [
  {
    name: 'adopted-log-keeps-what-it-published',
    promise: 'confirmed-was-processed',
    file: 'src/store/installation/adopt.ts',
    find: '    await takeOutPassed(sql);\n',
    replace: '',
    test: 'test/integration/database/adopt-log.test.ts',
    title: adopted,
  },
  {
    name: 'adopted-without-facts-of-batches',
    promise: 'archive-blocks-nothing',
    file: 'src/store/installation/adopt.ts',
    find: 'coalesce(m.partition, b.partition)',
    replace: 'm.partition',
    test: 'test/integration/database/adopt-log.test.ts',
    title: adopted,
  },
  {
    name: 'awaited-receipts-in-the-log',
    promise: 'confirmed-was-processed',
    file: 'outbox.write_store()',
    find: 't.name = p_topic and t.confirm_group is null and',
    replace: 't.name = p_topic and',
    test: log,
    title: 'messages that can go now lie in the log, all others in the table',
  },
  {
    name: 'awaited-receipts-of-a-batch-in-the-log',
    promise: 'confirmed-was-processed',
    file: 'outbox.write_store()',
    find: 'if dues is null and policy.confirm_group is null then',
    replace: 'if dues is null then',
    test: log,
    title: 'messages that can go now lie in the log, all others in the table',
  },
  {
    name: 'leaf-asked-about-all-since-the-oldest',
    promise: 'archive-blocks-nothing',
    file: 'outbox.lanes_of_leaf()',
    find: 'm.xid >= pg_snapshot_xmax(l.snapshot)',
    replace: 'm.xid >= pg_snapshot_xmin(l.snapshot) and not pg_visible_in_snapshot(m.xid, l.snapshot)',
    test: plans,
    title: 'to find out that a leaf is passed reads no message of it',
  },
  {
    name: 'leaf-that-fails-keeps-the-others',
    promise: 'archive-blocks-nothing',
    file: 'src/store/retention/leaves.ts',
    find: '.catch((error: unknown) => failures.push(error))',
    replace: '',
    test: leaves,
    title: 'a leaf whose step fails keeps no other one',
  },
  {
    name: 'leaf-held-by-a-paused-lane',
    promise: 'history-slows-nothing',
    file: 'src/store/retention/leaves.ts',
    find: '    if (index < closed.length - mostClosed) await clearLeaf(database, n, pace);\n',
    replace: '',
    test: leaves,
    title:
      'a lane that stays behind for nine leaves does not keep the first one: its messages move beside the log, in order',
  },
  {
    name: 'leaf-cleared-without-late-messages',
    promise: 'history-slows-nothing',
    file: 'src/store/retention/leaf.ts',
    find: 'and m.xid = running.xid and m.position + 0 <= l.cursor offset 0',
    replace: 'and m.xid = running.xid and false offset 0',
    test: leaves,
    title:
      'a lane that stays behind for nine leaves does not keep the first one: its messages move beside the log, in order (',
  },
  {
    name: 'leaf-cleared-without-newest-messages',
    promise: 'history-slows-nothing',
    file: 'src/store/retention/leaf.ts',
    find: 'and m.position + 0 <= l.cursor and m.xid >= pg_snapshot_xmax(l.snapshot)',
    replace: 'and false and m.xid >= pg_snapshot_xmax(l.snapshot)',
    test: leaves,
    title:
      'a lane that stays behind for nine leaves does not keep the first one: its messages move beside the log, in order (',
  },
  {
    name: 'batches-expire-before-their-leaf',
    promise: 'archive-blocks-nothing',
    file: 'src/store/retention/deletes.ts',
    find: '(p.last_position < least(',
    replace: '(0 < least(',
    test: 'test/integration/database/current-leaf.test.ts',
    title: 'records of batches stay with a leaf that was opened before the clock was set back',
  },
  {
    name: 'used-leaf-renewed-as-if-empty',
    promise: 'archive-blocks-nothing',
    file: 'src/store/retention/leaves.ts',
    find: ' and not exists (select from outbox.log_${old.n}) returning n',
    replace: ' returning n',
    test: 'test/integration/database/current-leaf.test.ts',
    title: 'the time of an empty leaf never passes that of a batch whose message comes into it meanwhile',
  },
  {
    name: 'new-leaf-for-its-owner-alone',
    promise: 'archive-blocks-nothing',
    file: 'outbox.next_leaf()',
    find: '  perform outbox.grant_log();\n',
    replace: '',
    test: 'test/integration/database/leaf-grants.test.ts',
    title: 'who may insert messages may send to a new leaf',
  },
  {
    name: 'adopted-copy-sends-as-its-original',
    promise: 'second-database-detected',
    file: 'src/store/installation/adopt.ts',
    find: `  await sql.query('select outbox.grant_log(), outbox.write_store()');\n`,
    replace: '',
    test: 'test/integration/database/adopt.test.ts',
    title: 'a copy with a new installation sends with workflow ids of its own',
  },
];
