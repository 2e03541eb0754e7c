import { setTimeout as delay } from 'node:timers/promises';
import { expect, type TestContext, test } from 'vitest';
import { faultSeeds } from '../support/faults/fault-scale.ts';
import { openFaultStage } from '../support/faults/fault-stage.ts';
import { createTestDatabase } from '../support/fixtures/database.ts';
import { createJournal, journalTransport, readJournal } from '../support/fixtures/journal.ts';
import { brokenPromises } from '../support/fixtures/kept-promises.ts';
import { judgeLedger, kept, repeats } from '../support/fixtures/ledger.ts';
import { startLedgerLoad } from '../support/fixtures/ledger-load.ts';
import { ownPostgres } from '../support/fixtures/own-postgres.ts';
import { numbered } from '../support/fixtures/stage.ts';
import { until } from '../support/fixtures/until.ts';

const orders = numbered('orders');
/** Longer than the ten seconds of a lease. */
const frozenMs = 12_000;

async function freezeUnderLoad(context: TestContext, seed: number): Promise<void> {
  const server = await ownPostgres(context);
  // The journal represents the broker, on a server of its own, which keeps running.
  const broker = await createTestDatabase();
  context.onTestFinished(() => broker.drop());
  await createJournal(broker.database);
  const stage = openFaultStage(context, {
    url: server.url,
    topics: [orders],
    transport: () => journalTransport(broker.url),
  });
  const relay = await stage.relay();
  const load = startLedgerLoad(stage, orders, { seed, perSecond: 300, delayed: 0.2 });
  const arrived = async (): Promise<number> => (await readJournal(broker.database)).length;
  await until(async () => (await arrived()) > 200, 60_000);

  const frozen = await server.freeze();
  const frozenAt = performance.now();
  // The silence is reported after three seconds; a connection would stay open for hours.
  const told = (): readonly string[] => relay.health().failing.map(({ what }) => what);
  await until(() => told().includes('PostgreSQL'), 10_000).catch(() => undefined);
  expect(told()).toContain('PostgreSQL');
  // What was claimed before has been published by now.
  const during = await arrived();
  await delay(Math.max(0, frozenMs - (performance.now() - frozenAt)));
  expect(await arrived(), 'nothing is published that nobody can claim').toBe(during);
  frozen.thaw();

  await until(async () => (await arrived()) > during + 100, 60_000).catch(() => undefined);
  expect(await arrived(), 'delivery goes on by itself').toBeGreaterThan(during + 100);
  // What is tried again in minutes, such as the search for a twin, stays as long.
  const gone = (): boolean => !told().some((what) => ['PostgreSQL', 'look'].includes(what));
  await until(gone, 60_000).catch(() => undefined);
  expect(gone(), told().join()).toBe(true);
  const ledger = await load.stop();
  await stage.untilDone();
  const log = await readJournal(broker.database);
  expect(judgeLedger(ledger, log)).toEqual(kept);
  // The batch that was in hand, at most.
  expect(repeats(log)).toBeLessThanOrEqual(2_000);
  expect(await stage.attempts()).toBe(0);
  expect(await brokenPromises(stage.database, broker.database)).toEqual([]);
}

test.for(faultSeeds(7))(
  'I1 I3 I5 I6 I13 F07: PostgreSQL frozen past a lease is reported as silent, and everything continues when it resumes (seed %i)',
  { timeout: 300_000 },
  (seed, context) => freezeUnderLoad(context, seed),
);
