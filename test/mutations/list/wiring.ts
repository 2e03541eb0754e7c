import type { Mutation } from '../mutation.ts';

const told = '`onFailed` is called for each failed message';

/** Correct parts, put together wrongly: what calls them, when, and with which result. */
export const wiringMutations: readonly Mutation[] = [
  {
    name: 'consumer-asks-once-whether-it-is-migrated',
    promise: 'A start waits for its servers',
    file: 'src/inbox/start-consumer.ts',
    find: 'const installation = await atStart(',
    replace: 'const installation = await ask(',
    test: 'test/integration/relay/start-interrupted.test.ts',
    title: 'a consumer that loses its connection to PostgreSQL',
  },
  {
    name: 'migrate-waits-for-nobody',
    promise: 'A command waits for a PostgreSQL that is starting',
    file: 'src/store/database/visit.ts',
    find: 'onceStarted(() => work(database))',
    replace: 'work(database)',
    test: 'test/integration/relay/start-interrupted.test.ts',
    title: 'a check of migrations and a preparation of topics wait some seconds for a starting PostgreSQL',
  },
  {
    name: 'claim-ahead-waits-for-a-ring',
    promise: 'Lateness is bounded (I7)',
    file: 'src/relay/drain.ts',
    find: 'ahead === undefined && hold === undefined && !claimed.truncated',
    replace: 'hold === undefined && !claimed.truncated',
    test: 'test/integration/relay/claim-ahead.test.ts',
    title: 'a message rung for and claimed behind a partial batch is sent at once, not at the next check',
  },
  {
    name: 'replaced-session-not-noticed',
    promise: 'Duplicates are bounded (I11)',
    file: 'src/relay/lane-lease.ts',
    find: 'this.#session()?.key !== this.#tiedTo',
    replace: 'this.#tiedTo === undefined',
    test: 'test/integration/relay/lease-session.test.ts',
    title: 'a lane whose session was replaced is tied to the new one at the next look',
  },
  {
    name: 'successful-batches-hidden-from-the-breaker',
    promise: 'One bad message, key or topic slows no other (I15)',
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
    name: 'retry-keeps-its-notice',
    promise: told,
    file: 'outbox.note_failure()',
    find: `case when new.state = 'failed' then false end`,
    replace: 'coalesce(new.notified, false)',
    test: 'test/integration/relay/failure-notices.test.ts',
    title: 'a message that was retried in time is not told, and one that fails again is told again',
  },
];
