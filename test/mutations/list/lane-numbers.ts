import type { Mutation } from '../mutation.ts';

const order = 'Order per key (I3)';

/** A topic gets another number of lanes, or its database another place. */
export const laneNumberMutations: readonly Mutation[] = [
  {
    name: 'lane-change-waits-for-writers-only',
    promise: order,
    file: 'src/store/lane/lanes-switch.ts',
    find: `and a.backend_type is distinct from 'autovacuum worker'`,
    replace: `and a.backend_type is distinct from 'autovacuum worker' and a.backend_xid is not null`,
    test: 'test/integration/lanes-change.test.ts',
    title: 'a transaction that has not written yet, but has seen the old number, is waited for',
  },
  {
    name: 'lane-change-leaves-late-rows',
    promise: 'No loss (I1)',
    file: 'src/store/lane/lanes-replace.ts',
    find: `    moved += await inPages('', () => [lateOfLane, [topic, wanted, batchRows, n]]);\n`,
    replace: '',
    test: 'test/integration/lanes-change.test.ts',
    title: 'messages that join a lane behind its cursor are delivered',
  },
  {
    name: 'prepared-transactions-not-waited-for',
    promise: order,
    file: 'src/operations/lanes.ts',
    find: 'of [runningTransactions, preparedTransactions])',
    replace: 'of [runningTransactions])',
    test: 'test/integration/lanes-prepared.test.ts',
  },
  {
    name: 'announcement-leaves-what-was-stored-before',
    promise: order,
    file: 'src/store/lane/topics.ts',
    find: 'from stored where fresh and lanes > 1',
    replace: 'from stored where false',
    test: 'test/integration/lanes-announced.test.ts',
    title: 'messages that were stored before their topic was announced keep the order of their key',
  },
  {
    name: 'sequences-stay-as-they-were-copied',
    promise: order,
    file: 'src/store/installation/adopt.ts',
    find: '    await raiseSequences(sql);\n',
    replace: '',
    test: 'test/integration/adopt.test.ts',
    title: 'after native logical replication',
  },
  {
    name: 'as-few-slots-as-topics',
    promise: 'More lanes are drained at once',
    file: 'src/temporal/relay/workers.ts',
    find: 'maxConcurrentActivityTaskExecutions: topics * maxLanes,',
    replace: 'maxConcurrentActivityTaskExecutions: topics * Math.min(maxLanes, 8),',
    test: 'test/integration/temporal-lanes-grow.test.ts',
    title: 'a relay that started with one lane drains 40 side by side',
  },
  {
    name: 'added-lanes-share-connections',
    promise: 'More lanes are drained at once',
    file: 'src/config/relay-connections.ts',
    find: 'Math.min(Math.max(lanes, draining), mostForLanes) + spareConnections',
    replace: 'lanes + spareConnections',
    test: 'test/integration/temporal-lanes-grow.test.ts',
    title: 'a relay that started with one lane drains 40 side by side',
  },
  {
    name: 'told-connections-not-heeded',
    promise: 'More lanes are drained at once',
    file: 'src/config/relay-connections.ts',
    find: 'return database.connections ?? Math.min(',
    replace: 'return Math.min(',
    test: 'test/integration/temporal-lanes-grow.test.ts',
    title: 'a relay that was told how many connections to take takes no more',
  },
];
