import type { Mutation } from '../mutation.ts';

const told = 'on-failed-called-once';
const stalled = 'on-stalled-called-once';
const stalledTests = 'test/integration/kafka/stalled-groups.test.ts';

/** Correct parts, put together wrongly: what calls them, when, and with which result. */
export const wiringMutations: readonly Mutation[] = [
  {
    name: 'compose-migrates-before-kafka-listens',
    promise: 'start-waits-for-servers',
    file: 'deploy/compose.yaml',
    find: 'kafka: { condition: service_healthy }',
    replace: 'kafka: { condition: service_started }',
    test: 'test/unit/deploy/files.test.ts',
    title: 'compose migrates once',
  },
  {
    name: 'consumer-asks-once-whether-it-is-migrated',
    promise: 'start-waits-for-servers',
    file: 'src/inbox/start-consumer.ts',
    find: 'const installation = await atStart(',
    replace: 'const installation = await ask(',
    test: 'test/integration/relay/start-interrupted.test.ts',
    title: 'a consumer that loses its connection to PostgreSQL',
  },
  {
    name: 'migrate-waits-for-nobody',
    promise: 'command-waits-for-start',
    file: 'src/store/database/visit.ts',
    find: 'onceStarted(() => work(database))',
    replace: 'work(database)',
    test: 'test/integration/relay/start-interrupted.test.ts',
    title: 'a check of migrations and a preparation of topics wait some seconds for a starting PostgreSQL',
  },
  {
    name: 'successful-batches-hidden-from-the-breaker',
    promise: 'one-bad-slows-no-other',
    file: 'src/inbox/intake/apply.ts',
    find: `if (applied[n]?.kind === 'handled' && breaker.watches(batch.address))`,
    replace: `if (applied[n]?.kind === 'handled' && batch.address === '')`,
    test: 'test/integration/inbox/breaker.test.ts',
    title: 'keys that succeed in batches outweigh a few failing ones',
  },
  {
    name: 'failure-without-a-nudge',
    promise: told,
    file: 'src/app/relay/deliver.ts',
    find: "      if (event.type === 'failed') notices?.nudge();\n",
    replace: '',
    test: 'test/integration/relay/failure-notices.test.ts',
    title: 'a relay calls onFailed of its configuration as soon as a message has failed',
  },
  {
    name: 'hook-called-for-each-message-while-it-is-away',
    promise: told,
    file: 'src/relay/failure-notices.ts',
    find: 'this.#rest.leftMs === 0 && ',
    replace: '',
    test: 'test/integration/relay/failure-notices.test.ts',
    title:
      'a hook that rejects every call rests for longer and longer, however many messages it was not told of, and then hears of all',
  },
  {
    name: 'retry-keeps-its-notice',
    promise: told,
    file: 'outbox.note_failure()',
    find: `case when new.state = 'failed' then false end`,
    replace: 'coalesce(new.notified, false)',
    test: 'test/integration/relay/failure-notices.test.ts',
    title: 'a message that was retried in time is not told, and one that fails again is told again',
  },
  {
    name: 'stall-is-told-by-every-look',
    promise: stalled,
    file: 'src/relay/judge-standing.ts',
    find: ' && !stands.some(({ told }) => told)',
    replace: '',
    test: stalledTests,
    title: 'a group that stands while messages wait is told once',
  },
  {
    name: 'stall-is-noted-before-its-call',
    promise: stalled,
    file: 'src/relay/stalled-groups.ts',
    find: "await lendTo('onStalled', (tx) => onStalled(tx, stalled), sql);",
    replace:
      "await sql.query('commit').then(() => lendTo('onStalled', (tx) => onStalled(tx, stalled), sql));",
    test: stalledTests,
    title: 'a relay that dies in the call has told nobody',
  },
  {
    name: 'each-relay-looks-at-groups',
    promise: stalled,
    file: 'src/store/installation/standing-groups.ts',
    find: 'where not outbox.lately(l.began_at, $3::float8)',
    replace: 'where $3::float8 > 0',
    test: stalledTests,
    title: 'relays that run at once tell of each stall once, and ask the broker as often as one does',
  },
  {
    name: 'slow-look-voids-itself',
    promise: stalled,
    file: 'src/store/installation/standing-groups.ts',
    find: 'and look < $4::bigint',
    replace:
      'and (select l.number from outbox.group_look l where l.transport = $1 and l.address = $2) = $4::bigint',
    test: stalledTests,
    title: 'a broker that answers more slowly than relays look is heard',
  },
  {
    name: 'one-moving-partition-hides-the-others',
    promise: stalled,
    file: 'src/relay/judge-standing.ts',
    find: '    if (beganMs - place.sinceMs >= afterMs) standing.push(partition);\n',
    replace:
      '    if (beganMs - place.sinceMs < afterMs) return { places, stalled: undefined };\n    standing.push(partition);\n',
    test: 'test/unit/relay/judge-standing.test.ts',
    title: 'one partition that stands is a stall',
  },
  {
    name: 'relay-forgets-its-hook-for-stalls',
    promise: stalled,
    file: 'src/app/relay/stalled.ts',
    find: '    onStalled,\n    report,',
    replace: '    onStalled: undefined,\n    report,',
    test: stalledTests,
    title: 'a relay calls onStalled of its configuration, and logs a line',
  },
];
