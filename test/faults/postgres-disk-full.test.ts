import { setTimeout as delay } from 'node:timers/promises';
import { expect, type TestContext, test } from 'vitest';
import { openDatabase } from '../../src/store/database/pool.ts';
import { migrate, readMigrations } from '../../src/store/installation/migrate.ts';
import { faultSeeds } from '../support/faults/fault-scale.ts';
import { openFaultStage } from '../support/faults/fault-stage.ts';
import { smallDisk } from '../support/faults/small-disk.ts';
import { createTestDatabase } from '../support/fixtures/database.ts';
import { createJournal, journalTransport, readJournal } from '../support/fixtures/journal.ts';
import { brokenPromises } from '../support/fixtures/kept-promises.ts';
import { judgeLedger, kept, repeats } from '../support/fixtures/ledger.ts';
import { startLedgerLoad } from '../support/fixtures/ledger-load.ts';
import { ownPostgres } from '../support/fixtures/own-postgres.ts';
import { numbered } from '../support/fixtures/stage.ts';
import { until } from '../support/fixtures/until.ts';

const orders = numbered('orders');
const fullMs = 5_000;

async function fillUnderLoad(context: TestContext, seed: number): Promise<void> {
  const server = await ownPostgres(context);
  const disk = await smallDisk(context, server.url);
  const installing = openDatabase({ url: disk.url, connections: 1 });
  await migrate(installing, await readMigrations());
  await installing.close();
  // The journal represents the broker, which has room.
  const broker = await createTestDatabase();
  context.onTestFinished(() => broker.drop());
  await createJournal(broker.database);
  const stage = openFaultStage(context, {
    url: disk.url,
    topics: [orders],
    transport: () => journalTransport(broker.url),
  });
  const relay = await stage.relay();
  const load = startLedgerLoad(stage, orders, { seed, perSecond: 300, delayed: 0.2 });
  const { ledger } = load;
  const arrived = async (): Promise<number> => (await readJournal(broker.database)).length;
  await until(async () => (await arrived()) > 100, 60_000);

  await disk.fill();
  await until(() => ledger.count('unknown') > 50, 60_000);
  await expect(
    stage.database.query('create table fired as select n from generate_series(1, 10000) n'),
  ).rejects.toMatchObject({ code: '53100' });
  await delay(fullMs);
  await disk.free();

  const before = await arrived();
  await until(async () => (await arrived()) > before + 100, 60_000).catch(() => undefined);
  expect(await arrived(), 'delivery goes on by itself').toBeGreaterThan(before + 100);
  const told = (): readonly string[] => relay.health().failing.map(({ what }) => what);
  await until(() => !told().includes('look'), 60_000).catch(() => undefined);
  expect(told()).not.toContain('look');
  await load.stop();
  await stage.untilDone();
  const log = await readJournal(broker.database);
  expect(judgeLedger(ledger, log)).toEqual(kept);
  // A settle that finds no room is said again, and its batch not sent again.
  expect(repeats(log)).toBeLessThanOrEqual(2_000);
  expect(await stage.attempts()).toBe(0);
  expect(await brokenPromises(stage.database, broker.database)).toEqual([]);
}

test.for(faultSeeds(6))(
  'I1 I2 I3 I5 I13 F06: commits fail while the disk of PostgreSQL is full, and everything continues once there is room (seed %i)',
  { timeout: 300_000 },
  (seed, context) => fillUnderLoad(context, seed),
);
