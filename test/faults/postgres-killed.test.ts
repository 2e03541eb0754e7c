import { setTimeout as delay } from 'node:timers/promises';
import { expect, type TestContext, test } from 'vitest';
import { faultRounds, faultSeeds, faultTimeoutMs } from '../support/faults/fault-scale.ts';
import { openFaultStage } from '../support/faults/fault-stage.ts';
import { createTestDatabase } from '../support/fixtures/database.ts';
import { createJournal, journalTransport, readJournal } from '../support/fixtures/journal.ts';
import { brokenPromises } from '../support/fixtures/kept-promises.ts';
import { judgeLedger, kept, repeats } from '../support/fixtures/ledger.ts';
import { startLedgerLoad } from '../support/fixtures/ledger-load.ts';
import { type OwnPostgres, ownPostgres } from '../support/fixtures/own-postgres.ts';
import { seededRandom } from '../support/fixtures/random.ts';
import { numbered } from '../support/fixtures/stage.ts';
import { until } from '../support/fixtures/until.ts';

const orders = numbered('orders');
const kills = faultRounds(2);
const restarts = faultRounds(5);

/** How often a server ends, and how. */
interface Ends {
  readonly times: number;
  readonly end: (server: OwnPostgres) => Promise<void>;
}

async function endUnderLoad(context: TestContext, seed: number, { times, end }: Ends): Promise<void> {
  const random = seededRandom(seed);
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
  const load = startLedgerLoad(stage, orders, { seed, perSecond: 400, delayed: 0.1 });
  const { ledger } = load;
  const arrived = async (): Promise<number> => (await readJournal(broker.database)).length;
  for (let ended = 1; ended <= times; ended += 1) {
    const before = await arrived();
    await until(async () => (await arrived()) > before + 100, 60_000);
    await delay(random.below(1_000));
    const failed = ledger.count('unknown');
    await end(server);
    // Impaired: calls fail, and the relay says why it cannot look.
    await until(() => ledger.count('unknown') > failed + 4, 60_000);
    await until(() => relay.events.some(({ type }) => type === 'error'));
    await server.start();
  }
  const healedAt = performance.now();
  const before = await arrived();
  await until(async () => (await arrived()) > before + 100, 120_000).catch(() => undefined);
  expect(await arrived(), 'delivery goes on by itself').toBeGreaterThan(before + 100);
  // A lease of ten seconds on any machine, and what a busy one takes for the rest.
  expect(performance.now() - healedAt).toBeLessThan(60_000);
  await load.stop();
  await stage.untilDone();

  const log = await readJournal(broker.database);
  expect(judgeLedger(ledger, log)).toEqual(kept);
  // What was on its way at an end, and what had arrived in the 0.6 s before it: less than a batch each.
  expect(repeats(log)).toBeLessThanOrEqual(times * 2_000);
  expect(await stage.attempts()).toBe(0);
  const stored = await stage.database.query<{ id: string }>('select id from outbox.message');
  const ids = new Set(stored.map(({ id }) => id));
  const lost = [...ledger.entries.values()].filter(
    ({ id, answer }) => answer === 'committed' && !ids.has(id),
  );
  expect(await brokenPromises(stage.database, broker.database)).toEqual([]);
  expect(lost).toEqual([]);
}

test.for(faultSeeds(1))(
  'I1 I2 I3 I5 I9 F04: PostgreSQL killed twice under load keeps every acknowledged commit, and all are delivered (seed %i)',
  { tags: ['no-loss'], timeout: faultTimeoutMs(400_000) },
  (seed, context) => endUnderLoad(context, seed, { times: kills, end: (server) => server.kill() }),
);

test.for(faultSeeds(10))(
  'I1 I2 I3 I5 I9 I13 F10: PostgreSQL stopped at once and started again, five times under load, keeps every promise (seed %i)',
  { timeout: faultTimeoutMs(400_000) },
  (seed, context) => endUnderLoad(context, seed, { times: restarts, end: (server) => server.stopAtOnce() }),
);
