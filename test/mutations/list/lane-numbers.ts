import type { Mutation } from '../mutation.ts';

/** A topic gets another number of lanes, or its database another place. */
export const laneNumberMutations: readonly Mutation[] = [
  {
    name: 'changes-of-operators-left-alone',
    promise: 'abandoned-lanes-completed',
    file: 'src/store/lane/topics.ts',
    find: "not outbox.lately(begun_at, case kind when 'lanes' then $3::integer else $4::integer end)",
    replace:
      "not outbox.lately(begun_at, case kind when 'lanes' then $3::integer * 1000 else $4::integer end)",
    test: 'test/integration/lanes/abandoned.test.ts',
    title:
      'a change of lanes abandoned by its operator is completed by a running relay, in the name of the operator',
  },
  {
    name: 'lane-change-waits-for-autovacuum',
    promise: 'autovacuum-delays-no-lanes',
    file: 'src/store/lane/lanes-switch.ts',
    find: '\n       and a.usesysid is not null',
    replace: '',
    test: 'test/integration/lanes/autovacuum.test.ts',
  },
  {
    name: 'killed-partitions-go-unreported',
    promise: 'abandoned-lanes-completed',
    file: 'src/store/lane/topics.ts',
    find: 'where topic = any($1)\n       and (actor',
    replace: "where topic = any($1) and kind = 'lanes'\n       and (actor",
    test: 'test/integration/lanes/partitions-abandoned.test.ts',
    title: 'a relay reports a change of partitions whose command was killed, and what completes it',
  },
  {
    name: 'lane-change-reads-all-at-once',
    promise: 'abandoned-lanes-completed',
    file: 'src/store/lane/lanes-walk.ts',
    find: 'order by m.${by} limit ${pageRows}),',
    replace: 'order by m.${by} limit 1000000000),',
    test: 'test/integration/lanes/change-pages.test.ts',
    title: 'no statement of a change of lanes reads more of many',
  },
  {
    name: 'each-call-waits-for-new-transactions',
    promise: 'abandoned-lanes-completed',
    file: 'src/store/lane/lanes-switch.ts',
    find: 'where c.${column} is null or o.id = any(c.${column})) as left',
    replace: ') as left',
    test: 'test/integration/lanes/change-waits.test.ts',
    title: 'a change that ran out of time waits for no transaction that began meanwhile',
  },
  {
    name: 'failed-changes-of-lanes-go-unreported',
    promise: 'abandoned-lanes-completed',
    file: 'src/operations/announce.ts',
    find: `if (one.status === 'rejected') failed(one.reason);`,
    replace: `if (one.status === 'rejected') continue;`,
    test: 'test/integration/lanes/announced.test.ts',
    title: 'a change that fails hides no other, and is told when all have ended',
  },
  {
    name: 'as-few-slots-as-topics',
    promise: 'added-lanes-drained',
    file: 'src/temporal/relay/workers.ts',
    find: 'maxConcurrentActivityTaskExecutions: topics * maxLanes,',
    replace: 'maxConcurrentActivityTaskExecutions: topics * Math.min(maxLanes, 8),',
    test: 'test/integration/temporal/lanes-grow.test.ts',
    title:
      'a relay that started with one lane drains 40 concurrently once they exist, each over its own connection',
  },
  {
    name: 'added-lanes-share-connections',
    promise: 'added-lanes-drained',
    file: 'src/app/relay/relay-connections.ts',
    find: 'Math.min(Math.max(lanes, draining), mostForLanes) + spareConnections',
    replace: 'lanes + spareConnections',
    test: 'test/integration/temporal/lanes-grow.test.ts',
    title:
      'a relay that started with one lane drains 40 concurrently once they exist, each over its own connection',
  },
  {
    name: 'configured-connections-ignored',
    promise: 'added-lanes-drained',
    file: 'src/app/relay/relay-connections.ts',
    find: 'return database.connections ?? Math.min(',
    replace: 'return Math.min(',
    test: 'test/integration/temporal/lanes-grow.test.ts',
    title: 'a relay with a set number of connections opens no more for added lanes',
  },
  {
    name: 'overtaken-partitions-unnamed',
    promise: 'equal-partition-changes-done',
    file: 'src/operations/partitions.ts',
    find: 'return overtaken(database, change, error);',
    replace: 'throw error;',
    test: 'test/integration/lanes/partitions-overtaken.test.ts',
  },
];
