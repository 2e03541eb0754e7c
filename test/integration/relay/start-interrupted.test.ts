// @module-tag apart
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, type TestContext, test } from 'vitest';
import { z } from 'zod';
import { operations } from '../../../src/app/operations/operations.ts';
import { migrateTopics } from '../../../src/app/relay/migrate-topics.ts';
import { startRelay } from '../../../src/app/relay/start-relay.ts';
import { type ConsumerEvent, clientOf, consumer } from '../../../src/consumer.ts';
import { topic } from '../../../src/core/topic.ts';
import { applyMigrations, migrationState } from '../../../src/operations/schema.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import { memoryBroker } from '../../../src/testing.ts';
import { proxiedDatabase } from '../../support/faults/proxied-database.ts';
import { createTestDatabase } from '../../support/fixtures/database.ts';
import { anotherDatabase, type OwnPostgres, ownPostgres } from '../../support/fixtures/own-postgres.ts';
import { seededRandom } from '../../support/fixtures/random.ts';
import { quietTemporal } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';

type TestEnd = Pick<TestContext, 'onTestFinished'>;

function relayOn({ onTestFinished }: TestEnd, url: string) {
  const events: RelayEvent[] = [];
  const relay = startRelay(
    {
      database: { url },
      temporal: { address: inject('temporalAddress') },
      topics: [topic('orders', z.unknown())],
      transports: {
        silent: {
          name: 'silent',
          publish: ({ messages }) =>
            Promise.resolve({
              outcomes: messages.map(() => ({ kind: 'rejected' as const, error: 'never' })),
            }),
          probe: () => Promise.resolve(),
          close: () => Promise.resolve(),
        },
      },
    },
    { report: (event) => events.push(event) },
  );
  onTestFinished(() => relay.stop());
  return { relay, events };
}

beforeAll(() => quietTemporal());

// A statement of each step of a start.
test.concurrent.for([
  'outbox.migration',
  'system_identifier',
  'outbox.setting',
  'outbox.place_question',
  'served_since = pg',
])('a relay that loses its connection to PostgreSQL at %s waits and starts', async (to, context) => {
  const made = await createTestDatabase();
  context.onTestFinished(() => made.drop());
  // The server was restarted since the last relay, so this one asks for twins.
  await made.database.query(`update outbox.installation set served_since = now() - interval '1 year'`);
  const { proxy, url } = await proxiedDatabase(context, made.url, 1);
  proxy.inject({ kind: 'lose-request', to, times: 3 });
  const { relay, events } = relayOn(context, url);

  await relay.ready;

  context.expect(proxy.fired('lose-request')).toBe(3);
  context
    .expect(events)
    .toContainEqual(expect.objectContaining({ type: 'waiting-for-server', server: 'PostgreSQL' }));
});

// What a consumer asks at its start, one after the other.
test.concurrent.for(['transaction_isolation', 'outbox.migration', 'outbox.installation', 'pg_walfile_name'])(
  'a consumer that loses its connection to PostgreSQL at %s waits and starts',
  { tags: ['start-waits-for-servers'] },
  async (to, context) => {
    const made = await createTestDatabase();
    context.onTestFinished(() => made.drop());
    const { proxy, url } = await proxiedDatabase(context, made.url, 1);
    proxy.inject({ kind: 'lose-request', to, times: 3 });

    const { events, starting } = consumerOn(context, url);
    const running = await starting;
    context.onTestFinished(() => running.stop());

    context.expect(proxy.fired('lose-request')).toBe(3);
    context
      .expect(events)
      .toContainEqual(expect.objectContaining({ type: 'waiting-for-server', server: 'PostgreSQL' }));
  },
);

describe('a server that restarts', () => {
  /** Restarted by one test after the other, each with a database of its own. */
  let server: OwnPostgres;
  let url: string;
  const ends: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    server = await ownPostgres({ onTestFinished: (end) => void ends.push(end) });
  });
  beforeEach(async (context) => {
    url = await anotherDatabase(context, server.url);
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });

  test.for([1, 2])(
    'a relay starts although PostgreSQL restarts during the start: seed %i',
    async (seed, context) => {
      const { relay } = relayOn(context, url);
      await restart(server, seededRandom(seed));

      await relay.ready;

      expect(relay.health().state).toBe('running');
    },
  );

  test.for(['ended', 'recovering'])(
    'the first operation of a process waits some seconds for a starting PostgreSQL: %s',
    { tags: ['command-waits-for-start'] },
    async (how, { onTestFinished }) => {
      await server.stopAtOnce();
      const outbox = operations({ database: { url } });
      onTestFinished(() => outbox.close());
      const recovering = how === 'recovering' ? server.start() : undefined;
      const listed = outbox.list({}).then(
        ({ messages }) => messages,
        (error: unknown) => error,
      );
      await (recovering ?? server.start());

      expect(await listed).toEqual([]);
    },
  );

  test.for([1, 2])(
    'a consumer starts although PostgreSQL restarts during the start: seed %i',
    async (seed, context) => {
      const random = seededRandom(seed);
      const { starting } = consumerOn(context, url);
      await restart(server, random);

      const running = await starting;
      context.onTestFinished(() => running.stop());

      expect(running.health().state).toBe('running');
    },
  );

  test.for([1, 2])(
    'a migration is applied although PostgreSQL restarts during it: seed %i',
    { tags: ['command-waits-for-start'] },
    async (seed, context) => {
      const empty = await anotherDatabase(context, server.url, false);
      const applied = applyMigrations({ url: empty });
      await restart(server, seededRandom(seed));

      expect(await applied).toEqual(expect.any(Array));
      expect((await migrationState({ url: empty })).pending).toEqual([]);
    },
  );

  test('a check of migrations and a preparation of topics wait some seconds for a starting PostgreSQL', {
    tags: ['command-waits-for-start'],
  }, async () => {
    await server.stopAtOnce();
    const checked = migrationState({ url });
    const prepared = migrateTopics({
      database: { url },
      topics: [topic('orders', z.unknown())],
      transports: { memory: memoryBroker() },
    });
    await server.start();

    expect((await checked).pending).toEqual([]);
    expect((await prepared).topics).toEqual(['orders']);
  });
});

/** Ends the server a moment from now, and starts it a moment later. */
async function restart(of: OwnPostgres, random: ReturnType<typeof seededRandom>): Promise<void> {
  const moment = random.next() * 300;
  const begunAt = performance.now();
  await until(() => performance.now() - begunAt >= moment);
  await of.stopAtOnce();
  const stoppedAt = performance.now();
  const pause = random.next() * 2_000;
  await until(() => performance.now() - stoppedAt >= pause);
  await of.start();
}

/** A consumer with a filter, which asks for the history of its database. */
function consumerOn({ onTestFinished }: TestEnd, url: string) {
  const pool = new pg.Pool({ connectionString: url });
  pool.on('error', () => undefined);
  onTestFinished(() => pool.end());
  const orders = topic('orders', z.unknown());
  const events: ConsumerEvent[] = [];
  const filter = {
    seen: () => Promise.resolve(new Set<string>()),
    add: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
  const starting = consumer(clientOf(pool), {
    config: {
      database: { url },
      temporal: { address: inject('temporalAddress') },
      topics: [orders],
      transports: { memory: memoryBroker() },
    },
    group: 'shop',
    window: 'forever',
    filter,
    report: (event) => events.push(event),
  })
    .on(orders, async () => undefined)
    .start();
  return { events, starting };
}
