import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { operations } from '../../src/config/operations.ts';
import { startRelay } from '../../src/config/start-relay.ts';
import { topic } from '../../src/core/topic.ts';
import type { RelayEvent } from '../../src/relay/report.ts';
import { proxiedDatabase } from '../support/faults/proxied-database.ts';
import { createTestDatabase } from '../support/fixtures/database.ts';
import { ownPostgres } from '../support/fixtures/own-postgres.ts';
import { seededRandom } from '../support/fixtures/random.ts';
import { quietTemporal } from '../support/fixtures/stage.ts';
import { until } from '../support/fixtures/until.ts';

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
  const random = seededRandom(seed);
  const { relay } = relayOn(server.url);
  const moment = random.next() * 300;
  const begunAt = performance.now();
  await until(() => performance.now() - begunAt >= moment);
  await server.stopAtOnce();
  const stoppedAt = performance.now();
  const pause = random.next() * 2_000;
  await until(() => performance.now() - stoppedAt >= pause);
  await server.start();

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
