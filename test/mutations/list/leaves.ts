import type { Mutation } from '../mutation.ts';

const log = 'test/integration/database/log.test.ts';
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
    name: 'adopted-copy-sends-as-its-original',
    promise: 'second-database-detected',
    file: 'src/store/installation/adopt.ts',
    find: `  await sql.query('select outbox.grant_log(), outbox.write_store()');\n`,
    replace: '',
    test: 'test/integration/database/adopt.test.ts',
    title: 'a copy with a new installation sends with workflow ids of its own',
  },
];
