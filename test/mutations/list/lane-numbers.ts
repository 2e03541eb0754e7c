import type { Mutation } from '../mutation.ts';

const order = 'Order per key (I3)';

/** A topic gets another number of lanes, or its database another place. */
export const laneNumberMutations: readonly Mutation[] = [
  {
    name: 'lane-change-waits-for-writers-only',
    promise: order,
    file: 'src/store/lane/lanes-switch.ts',
    find: 'and a.usesysid is not null',
    replace: 'and a.usesysid is not null and a.backend_xid is not null',
    test: 'test/integration/lanes/change.test.ts',
    title: 'the change waits for a transaction that has read the old number but not written yet',
  },
  {
    name: 'changes-of-operators-left-alone',
    promise: 'A relay completes a change of lanes that its operator abandons',
    file: 'src/store/lane/topics.ts',
    find: "and (actor = $2 or begun_at < clock_timestamp() - $3 * interval '1 ms')",
    replace: "and (actor = $2 or begun_at < clock_timestamp() - $3 * interval '1 day')",
    test: 'test/integration/lanes/abandoned.test.ts',
    title:
      'a change of lanes abandoned by its operator is completed by a running relay, in the name of the operator',
  },
  {
    name: 'lane-change-waits-for-autovacuum',
    promise: 'Autovacuum does not delay changes of lanes',
    file: 'src/store/lane/lanes-switch.ts',
    find: '\n       and a.usesysid is not null',
    replace: '',
    test: 'test/integration/lanes/autovacuum.test.ts',
  },
  {
    name: 'lane-change-leaves-late-rows',
    promise: 'No loss (I1)',
    file: 'src/store/lane/lanes-replace.ts',
    find: `      moved += await inPages('', () => [late, [topic, wanted, batchRows, n]]);\n`,
    replace: '',
    test: 'test/integration/lanes/change.test.ts',
    title: 'messages that join a lane behind its cursor are delivered',
  },
  {
    name: 'prepared-transactions-not-waited-for',
    promise: order,
    file: 'src/operations/lanes.ts',
    find: 'of [runningTransactions, preparedTransactions])',
    replace: 'of [runningTransactions])',
    test: 'test/integration/lanes/prepared.test.ts',
  },
  {
    name: 'announcement-leaves-what-was-stored-before',
    promise: order,
    file: 'src/store/lane/topics.ts',
    find: 'from stored where fresh and lanes > 1',
    replace: 'from stored where false',
    test: 'test/integration/lanes/announced.test.ts',
    title: 'messages stored before their topic was announced keep the order of their key, also delayed ones',
  },
  {
    name: 'sequences-stay-as-they-were-copied',
    promise: order,
    file: 'src/store/installation/adopt.ts',
    find: '    await raiseSequences(sql);\n',
    replace: '',
    test: 'test/integration/database/adopt.test.ts',
    title:
      'after native logical replication, which copies no sequences, a new message is ordered behind the ready ones and settles',
  },
  {
    name: 'as-few-slots-as-topics',
    promise: 'Added lanes are drained at once',
    file: 'src/temporal/relay/workers.ts',
    find: 'maxConcurrentActivityTaskExecutions: topics * maxLanes,',
    replace: 'maxConcurrentActivityTaskExecutions: topics * Math.min(maxLanes, 8),',
    test: 'test/integration/temporal/lanes-grow.test.ts',
    title:
      'a relay that started with one lane drains 40 concurrently once they exist, each over its own connection',
  },
  {
    name: 'added-lanes-share-connections',
    promise: 'Added lanes are drained at once',
    file: 'src/app/relay/relay-connections.ts',
    find: 'Math.min(Math.max(lanes, draining), mostForLanes) + spareConnections',
    replace: 'lanes + spareConnections',
    test: 'test/integration/temporal/lanes-grow.test.ts',
    title:
      'a relay that started with one lane drains 40 concurrently once they exist, each over its own connection',
  },
  {
    name: 'configured-connections-ignored',
    promise: 'Added lanes are drained at once',
    file: 'src/app/relay/relay-connections.ts',
    find: 'return database.connections ?? Math.min(',
    replace: 'return Math.min(',
    test: 'test/integration/temporal/lanes-grow.test.ts',
    title: 'a relay with a set number of connections opens no more for added lanes',
  },
  {
    name: 'overtaken-partitions-unnamed',
    promise: 'Of two equal changes of partitions both are done',
    file: 'src/operations/partitions.ts',
    find: 'return overtaken(database, change, error);',
    replace: 'throw error;',
    test: 'test/integration/lanes/partitions-overtaken.test.ts',
  },
];
