import { randomUUID } from 'node:crypto';
import { expect, type TestContext, test } from 'vitest';
import { OutboxError } from '../../src/core/errors.ts';
import { cancel } from '../../src/outbox/change.ts';
import { send } from '../../src/outbox/send.ts';
import { openDatabase } from '../../src/store/database/pool.ts';
import { faultRounds, faultTimeoutMs } from '../support/faults/fault-scale.ts';
import { openFaultStage } from '../support/faults/fault-stage.ts';
import { proxiedDatabase } from '../support/faults/proxied-database.ts';
import { journalTransport } from '../support/fixtures/journal.ts';
import { judgeLedger, kept, Ledger, repeats } from '../support/fixtures/ledger.ts';
import { startLedgerLoad } from '../support/fixtures/ledger-load.ts';
import { openPrisma } from '../support/fixtures/prisma.ts';
import { numbered, openStage } from '../support/fixtures/stage.ts';
import { byPg, byPrisma, type RunTransaction } from '../support/fixtures/transaction-ways.ts';
import { until } from '../support/fixtures/until.ts';

const orders = numbered('orders');
const rounds = faultRounds(10);
/** For faults that meet one statement in five. */
const patientMs = faultTimeoutMs(90_000);

/** A client whose commits are answered by a reset connection, until it is healed. */
async function open(context: TestContext, way: string, url: string): Promise<RunTransaction> {
  if (way === 'prisma') {
    const prisma = openPrisma(url);
    context.onTestFinished(() => prisma.$disconnect());
    return byPrisma(prisma);
  }
  const database = openDatabase({ url });
  context.onTestFinished(() => database.close());
  return byPg(database);
}

test.for([
  // With its end: that of `begin isolation level read committed` must not be taken for it.
  ['pg', 'commit\0'],
  ['prisma', 'COMMIT'],
] as const)(
  'I2 I4 F08: a %s client that never gets the answer to its commit sends again with the same id, and it is stored and delivered once',
  { tags: ['no-ghost'], timeout: faultTimeoutMs(180_000) },
  async ([way, statement], context) => {
    const stage = await openStage(context, { topics: [orders] });
    await stage.relay();
    const { proxy, url } = await proxiedDatabase(context, stage.url, 1);
    const run = await open(context, way, url);
    const ledger = new Ledger();
    for (let n = 1; n <= rounds; n += 1) {
      const entry = ledger.note({ id: randomUUID(), key: 'k', n, afterMs: 0 });
      const once = (): Promise<boolean> =>
        run(async (tx) => (await send(tx, orders, { n }, { id: entry.id, key: 'k' })).duplicate);
      proxy.inject({ kind: 'lose-reply', to: statement, times: 1 });

      await expect(once()).rejects.not.toBeInstanceOf(OutboxError);
      expect(proxy.fired('lose-reply')).toBe(n);
      proxy.heal();
      expect(await once()).toBe(true);
      entry.answer = 'committed';
    }
    await until(async () => (await stage.arrived()) >= rounds, 60_000);

    const journal = await stage.journal();
    expect(judgeLedger(ledger, journal)).toEqual(kept);
    expect(repeats(journal)).toBe(0);
    const rows = await stage.database.query('select from outbox.message');
    expect(rows).toHaveLength(rounds);
  },
);

test('I5 F08: a cancel whose commit was not answered holds, and repeating it says so', {
  tags: ['cancel-holds'],
}, async (context) => {
  const stage = await openStage(context, { topics: [orders] });
  await stage.relay();
  const { proxy, url } = await proxiedDatabase(context, stage.url, 1);
  const run = await open(context, 'pg', url);
  // Time enough for both cancels, on any machine.
  const { id } = await stage.commit((tx) => send(tx, orders, { n: 1 }, { after: '8s' }));
  const later = await stage.commit((tx) => send(tx, orders, { n: 2 }, { after: '8500ms' }));
  proxy.inject({ kind: 'lose-reply', to: 'commit\0', times: 1 });

  await expect(run((tx) => cancel(tx, orders, { id }))).rejects.toThrow(/./);
  expect(proxy.fired('lose-reply')).toBe(1);
  expect(await run((tx) => cancel(tx, orders, { id }))).toBe('canceled');
  await until(async () => (await stage.stateOf(later.id)) === 'published', 60_000);

  expect((await stage.journal()).map((entry) => entry.id)).toEqual([later.id]);
});

/** A relay that reaches its database through a proxy only, under load, and has delivered some. */
async function relayBehindProxy(context: TestContext, seed: number) {
  const stage = await openStage(context, { topics: [orders] });
  const { proxy, url } = await proxiedDatabase(context, stage.url, seed);
  const faulty = openFaultStage(context, {
    url: stage.url,
    relayUrl: url,
    topics: [orders],
    transport: () => journalTransport(stage.url),
  });
  const relay = await faulty.relay();
  const load = startLedgerLoad(stage, orders, { seed, perSecond: 300 });
  await stage.untilArrived(50);
  const finish = async (): Promise<void> => {
    proxy.heal();
    const ledger = await load.stop();
    await faulty.untilDone();
    const journal = await stage.journal();
    expect(judgeLedger(ledger, journal)).toEqual(kept);
    expect(repeats(journal)).toBe(0);
  };
  return { proxy, relay, finish };
}

test('I1 I3 I11 F08: a relay whose settles are lost or not answered repeats them and sends nothing twice', {
  timeout: faultTimeoutMs(400_000),
}, async (context) => {
  const { proxy, relay, finish } = await relayBehindProxy(context, 8);
  for (const kind of ['lose-reply', 'lose-request'] as const) {
    proxy.inject({ kind, to: 'outbox.pass', chance: 0.2 });
    await until(() => proxy.fired(kind) >= rounds, patientMs);
  }
  const settlesFailed = (): number =>
    relay.events.filter((event) => event.type === 'error' && event.during === 'settle').length;
  await until(() => settlesFailed() >= 2 * rounds, patientMs);
  await finish();
});

test('I1 I5 I13: a relay whose claims are not answered claims again, and neither loses its lane nor makes it suspect', {
  timeout: faultTimeoutMs(400_000),
}, async (context) => {
  const { proxy, relay, finish } = await relayBehindProxy(context, 9);
  proxy.inject({ kind: 'lose-reply', to: 'outbox.claim', chance: 0.2 });
  await until(() => proxy.fired('lose-reply') >= rounds, patientMs);
  const claimsFailed = (): number =>
    relay.events.filter((event) => event.type === 'error' && event.during === 'claim').length;
  await until(() => claimsFailed() >= rounds, patientMs);
  // Given up and acquired anew, everything that waits in the lane would count as maybe published.
  expect(relay.events.filter((event) => event.type === 'lane-acquired' && event.lapsed)).toEqual([]);
  await finish();
});
