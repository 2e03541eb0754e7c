import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { faultRounds, faultTimeoutMs } from '../support/faults/fault-scale.ts';
import { openFaultStage } from '../support/faults/fault-stage.ts';
import { proxiedDatabase } from '../support/faults/proxied-database.ts';
import { journalTransport } from '../support/fixtures/journal.ts';
import { judgeJournal, lastBatches, unexcusedDuplicates } from '../support/fixtures/journal-check.ts';
import { judgeLedger, kept } from '../support/fixtures/ledger.ts';
import { startLedgerLoad } from '../support/fixtures/ledger-load.ts';
import { startLoad } from '../support/fixtures/load.ts';
import { numbered, openStage } from '../support/fixtures/stage.ts';
import { until } from '../support/fixtures/until.ts';

const orders = numbered('orders');
const blips = faultRounds(6);

test('I1 I3: a relay that loses its session while it sends only repeats messages', {
  tags: ['no-lane-stops'],
  timeout: faultTimeoutMs(300_000),
}, async (context) => {
  const stage = await openStage(context, { topics: [orders] });
  // Longer than the grace: another owner that takes the lane sends concurrently with the old one.
  const before = (): Promise<void> => delay(700);
  const relays = await Promise.all([
    stage.relay({}, { publisher: 'a', before }),
    stage.relay({}, { publisher: 'b', before }),
  ]);
  const load = startLoad(stage, orders, { perSecond: 200 });
  await stage.untilArrived(50);
  for (let blip = 0; blip < blips; blip += 1) {
    const ended = await stage.database.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'temporal-outbox session' and datname = current_database()`,
    );
    expect(ended.length, 'the fault: sessions were ended').toBeGreaterThan(0);
    await stage.untilArrived(50);
  }
  const committed = await load.stop();
  await stage.untilDelivered(committed, 'orders');

  const journal = await stage.journal();
  expect(judgeJournal(journal, committed)).toMatchObject({ lost: [], ghosts: [], disordered: [] });
  await Promise.all(relays.map((relay) => relay.stop()));
});

test('I1 I3 I13: a relay whose connections die silently continues over new ones', {
  tags: ['no-lane-stops'],
}, async (context) => {
  const stage = await openStage(context, { topics: [orders] });
  const { proxy, url } = await proxiedDatabase(context, stage.url, 1);
  const faulty = openFaultStage(context, {
    url: stage.url,
    relayUrl: url,
    topics: [orders],
    transport: () => journalTransport(stage.url),
  });
  await faulty.relay();
  const load = startLedgerLoad(stage, orders, { seed: 1, perSecond: 100, delayed: 0.1 });
  await stage.untilArrived(50);

  proxy.inject({ kind: 'strand' });
  await until(() => proxy.fired('strand') > 0);
  const strandedAt = performance.now();
  const soFar = await stage.arrived();
  await until(async () => (await stage.arrived()) > soFar + 100, 60_000);
  const silentMs = performance.now() - strandedAt;
  const ledger = await load.stop();
  await faulty.untilDone();

  expect(judgeLedger(ledger, await stage.journal())).toEqual(kept);
  // A silent session is given up after 4 s, and with it every statement that waits; the lease of the lane lasts 10 s.
  expect(silentMs).toBeLessThan(45_000);
});

test('I1 I3 I13: a relay frozen during a settle keeps its lane no longer than its lease', {
  tags: ['no-lane-stops'],
}, async (context) => {
  const stage = await openStage(context, { topics: [orders] });
  const frozen = await stage.relayProcess({
    crash: { point: 'relay:settling', pass: 3, signal: 'SIGSTOP' },
  });
  // Messages with workflows of their own are settled by more than one statement.
  const load = startLedgerLoad(stage, orders, { seed: 2, perSecond: 50, delayed: 0.9 });
  const locked = async (): Promise<boolean> => {
    const rows = await stage.database.query(
      // Every transaction is idle for a moment between two statements; this one stays so.
      `select from pg_stat_activity where state = 'idle in transaction' and datname = current_database()
         and state_change < clock_timestamp() - interval '1 s'`,
    );
    return rows.length > 0;
  };
  await until(locked, 60_000);
  const successor = await stage.relay({}, { publisher: 'successor' });
  await until(async () => (await stage.lastPublisher()) === 'successor', 100_000);

  expect(successor.events).toContainEqual(
    expect.objectContaining({ type: 'lane-acquired', lapsed: true, topic: 'orders', lane: 0 }),
  );
  // Once it is thawed, it may have further turns of the lane.
  const inFlight = lastBatches(await stage.journal(), [frozen.publisher]);
  frozen.signal('SIGCONT');
  await until(
    () => frozen.events.some((event) => event.type === 'error' && event.during === 'settle'),
    60_000,
  ).catch((error: unknown) => {
    throw new Error(`The thawed settle did not fail. ${frozen.timeline()}`, { cause: error });
  });
  const ledger = await load.stop();
  const committedDone = async (): Promise<boolean> =>
    (
      await stage.database.query(
        `select from outbox.message_view where state::text in ('waiting', 'ready', 'retrying', 'blocked')`,
      )
    ).length === 0;
  await until(committedDone, 60_000);

  const journal = await stage.journal();
  expect(judgeLedger(ledger, journal)).toEqual(kept);
  expect(unexcusedDuplicates(journal, inFlight)).toEqual([]);
});
