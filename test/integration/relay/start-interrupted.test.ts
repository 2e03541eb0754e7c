import pg from 'pg';
import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { operations } from '../../../src/app/operations/operations.ts';
import { migrateTopics } from '../../../src/app/relay/migrate-topics.ts';
import { startRelay } from '../../../src/app/relay/start-relay.ts';
import { type ConsumerEvent, clientOf, consumer } from '../../../src/consumer.ts';
import { topic } from '../../../src/core/topic.ts';
import { applyMigrations, migrationState } from '../../../src/operations/schema.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import { openDatabase } from '../../../src/store/database/pool.ts';
import { memoryBroker } from '../../../src/testing.ts';
import { proxiedDatabase } from '../../support/faults/proxied-database.ts';
import { createTestDatabase } from '../../support/fixtures/database.ts';
import { type OwnPostgres, ownPostgres } from '../../support/fixtures/own-postgres.ts';
import { seededRandom } from '../../support/fixtures/random.ts';
import { quietTemporal } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';

vi.setConfig({ testTimeout: 240_000 });

function relayOn(url: string) {
  quietTemporal();
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

// A statement of each step of a start.
test.each([
  'outbox.migration',
  'system_identifier',
  'outbox.setting',
  'outbox.place_question',
  'served_since = pg',
])('a relay that loses its connection to PostgreSQL at %s waits and starts', async (to) => {
  const made = await createTestDatabase();
  onTestFinished(() => made.drop());
  // The server was restarted since the last relay, so this one asks for twins.
  await made.database.query(`update outbox.installation set served_since = now() - interval '1 year'`);
  const { proxy, url } = await proxiedDatabase({ onTestFinished }, made.url, 1);
  proxy.inject({ kind: 'lose-request', to, times: 3 });
  const { relay, events } = relayOn(url);

  await relay.ready;

  expect(proxy.fired('lose-request')).toBe(3);
  expect(events).toContainEqual(
    expect.objectContaining({ type: 'waiting-for-server', server: 'PostgreSQL' }),
  );
});

test.each([1, 2, 3, 4])('a relay starts although PostgreSQL restarts meanwhile: seed %i', async (seed) => {
  const server = await ownPostgres({ onTestFinished });
  const { relay } = relayOn(server.url);
  await restart(server, seededRandom(seed));

  await relay.ready;

  expect(relay.health().state).toBe('running');
});

test.each(['ended', 'recovering'])(
  'the first operation of a process waits some seconds for a PostgreSQL that starts: %s',
  async (how) => {
    const server = await ownPostgres({ onTestFinished });
    await server.stopAtOnce();
    const outbox = operations({ database: { url: server.url } });
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

// What a consumer asks at its start, one after the other.
test.each(['transaction_isolation', 'outbox.migration', 'outbox.installation', 'pg_walfile_name'])(
  'a consumer that loses its connection to PostgreSQL at %s waits and starts',
  async (to) => {
    const made = await createTestDatabase();
    onTestFinished(() => made.drop());
    const { proxy, url } = await proxiedDatabase({ onTestFinished }, made.url, 1);
    proxy.inject({ kind: 'lose-request', to, times: 3 });

    const { events, starting } = consumerOn(url);
    const running = await starting;
    onTestFinished(() => running.stop());

    expect(proxy.fired('lose-request')).toBe(3);
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'waiting-for-server', server: 'PostgreSQL' }),
    );
  },
);

test.each([1, 2, 3])('a consumer starts although PostgreSQL restarts meanwhile: seed %i', async (seed) => {
  const server = await ownPostgres({ onTestFinished });
  const random = seededRandom(seed);
  const { starting } = consumerOn(server.url);
  await restart(server, random);

  const running = await starting;
  onTestFinished(() => running.stop());

  expect(running.health().state).toBe('running');
});

test.each([1, 2, 3])(
  'a migration is applied although PostgreSQL restarts meanwhile: seed %i',
  async (seed) => {
    const server = await ownPostgres({ onTestFinished });
    const empty = new URL(server.url);
    empty.pathname = '/emptied';
    const admin = openDatabase({ url: server.url, connections: 1 });
    await admin.query('create database emptied');
    await admin.close();
    const applied = applyMigrations({ url: empty.href });
    await restart(server, seededRandom(seed));

    expect(await applied).toEqual(expect.any(Array));
    expect((await migrationState({ url: empty.href })).pending).toEqual([]);
  },
);

test('a check and a preparation of topics wait some seconds for a PostgreSQL that starts', async () => {
  const server = await ownPostgres({ onTestFinished });
  await server.stopAtOnce();
  const checked = migrationState({ url: server.url });
  const prepared = migrateTopics({
    database: { url: server.url },
    topics: [topic('orders', z.unknown())],
    transports: { memory: memoryBroker() },
  });
  await server.start();

  expect((await checked).pending).toEqual([]);
  expect((await prepared).topics).toEqual(['orders']);
});

/** Ends the server a moment from now, and starts it a moment later. */
async function restart(server: OwnPostgres, random: ReturnType<typeof seededRandom>): Promise<void> {
  const moment = random.next() * 300;
  const begunAt = performance.now();
  await until(() => performance.now() - begunAt >= moment);
  await server.stopAtOnce();
  const stoppedAt = performance.now();
  const pause = random.next() * 2_000;
  await until(() => performance.now() - stoppedAt >= pause);
  await server.start();
}

/** A consumer with a filter, which asks for the history of its database. */
function consumerOn(url: string) {
  quietTemporal();
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
