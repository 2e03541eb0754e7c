import { expect, inject, type TestContext, test } from 'vitest';
import { type RunningRelay, startTimedRelay } from '../../src/app/relay/start-relay.ts';
import { adopt } from '../../src/operations/delivery/adopt.ts';
import type { RelayEvent } from '../../src/relay/report.ts';
import type { Database } from '../../src/store/database/database.ts';
import { openDatabase } from '../../src/store/database/pool.ts';
import { readInstallation } from '../../src/store/installation/installation.ts';
import { readTwin } from '../../src/store/installation/twin.ts';
import { storeMessages } from '../../src/store/message/write.ts';
import { verifyStates } from '../../src/store/verify/states.ts';
import { runCli } from '../support/fixtures/cli.ts';
import { ownPostgres } from '../support/fixtures/own-postgres.ts';
import { numbered, quietTemporal } from '../support/fixtures/stage.ts';
import { startStandby } from '../support/fixtures/standby-postgres.ts';
import { until } from '../support/fixtures/until.ts';

const orders = numbered('orders');

interface StartedRelay extends RunningRelay {
  /** Ids of what it published. */
  readonly published: readonly string[];
  readonly events: readonly RelayEvent[];
}

/** A relay of the namespace that all share, which compares every second. */
function relayOn(context: TestContext, url: string): StartedRelay {
  quietTemporal();
  const events: RelayEvent[] = [];
  const published: string[] = [];
  const relay = startTimedRelay(
    {
      database: { url },
      temporal: { address: inject('temporalAddress') },
      topics: [orders],
      transports: {
        noted: {
          name: 'noted',
          publish: ({ messages }) => {
            published.push(...messages.map(({ id }) => id));
            return Promise.resolve({
              outcomes: messages.map(() => ({ kind: 'acknowledged' as const, partition: 0, offset: '0' })),
            });
          },
          probe: () => Promise.resolve(),
          close: () => Promise.resolve(),
        },
      },
    },
    { report: (event) => events.push(event) },
    { laneIdleTimeoutMs: 100, reconcileIntervalMs: 1_000, scheduleCheckIntervalMs: 1_000 },
  );
  context.onTestFinished(() => relay.stop());
  return { ...relay, events, published };
}

/** A database and a running physical copy of it. */
async function originalAndClone(context: TestContext) {
  const server = await ownPostgres(context);
  const { url } = server;
  const original = relayOn(context, url);
  await original.ready;
  const clone = await startStandby(context, url);
  await clone.caughtUp();
  const open = (at: string): Database => {
    const database = openDatabase({ url: at, connections: 2 });
    context.onTestFinished(() => database.close());
    return database;
  };
  return { url, kill: () => server.kill(), original, clone, open };
}

async function delivers(relay: StartedRelay, database: Database): Promise<void> {
  const [stored] = await storeMessages(database, 'orders', [{ payload: '{"n":1}' }]);
  await until(() => relay.published.includes(stored?.id ?? ''), 60_000);
}

test('a relay of a clone refuses to start while the original runs, and starts once the clone has an id of its own', {
  tags: ['second-database-detected'],
}, async (context) => {
  const { url, original, clone, open } = await originalAndClone(context);
  await clone.cut();
  await clone.promote();

  const refused = relayOn(context, clone.url);
  await expect(refused.ready).rejects.toMatchObject({
    code: 'OUTBOX_INSTALLATION_TWICE',
    details: { place: expect.stringContaining(new URL(url).host) as string },
  });
  const onClone = open(clone.url);
  const { stdout } = await runCli(['status'], { DATABASE_URL: clone.url });
  expect(stdout).toContain('another running database');
  expect((await verifyStates(onClone)).first).toMatchObject([
    { what: expect.stringContaining('another running database') as string, id: null },
  ]);
  // The original never noticed.
  const onOriginal = open(url);
  await delivers(original, onOriginal);
  expect(await readTwin(onOriginal)).toBeNull();

  await adopt(onClone, { actor: 'test', newInstallation: true });
  expect(await readInstallation(onClone)).not.toBe(await readInstallation(onOriginal));
  const adopted = relayOn(context, clone.url);
  await adopted.ready;
  expect(await readTwin(onClone)).toBeNull();
  await delivers(adopted, onClone);
  await delivers(original, onOriginal);
});

test('relays that deliver from two running databases of one installation report it', {
  tags: ['second-database-detected'],
}, async (context) => {
  const { url, original, clone, open } = await originalAndClone(context);
  await clone.cut();
  await clone.promote();
  // While no relay of the original runs, nothing reveals its clone.
  await original.stop();
  const ofClone = relayOn(context, clone.url);
  await ofClone.ready;
  const again = relayOn(context, url);
  await again.ready;

  const twice = ({ events }: StartedRelay): boolean =>
    events.some(
      ({ type, ...event }) =>
        type === 'error' && String(Object.values(event)[1]).includes('another running database'),
    );
  await until(() => twice(ofClone) || twice(again), 120_000);
  const noted = await readTwin(open(twice(again) ? url : clone.url));
  expect(noted?.place).toContain(new URL(twice(again) ? clone.url : url).host);
});

test('a failover to a standby that lacks the last commits is not reported as a twin', {
  tags: ['second-database-detected'],
}, async (context) => {
  const { kill, original, clone, open, url } = await originalAndClone(context);
  await clone.cut();
  await delivers(original, open(url));
  await kill();
  await clone.promote();
  // Relays of the old primary still poll, and cannot say anything.
  const next = relayOn(context, clone.url);
  await next.ready;
  const onNext = open(clone.url);
  await delivers(next, onNext);
  await until(() => next.events.some(({ type }) => type === 'reconciled'), 60_000);
  expect(await readTwin(onNext)).toBeNull();
});
