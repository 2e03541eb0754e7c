import { expect, test } from 'vitest';
import { openFaultStage } from '../support/faults/fault-stage.ts';
import { pooledDatabase } from '../support/faults/pooled-database.ts';
import { journalTransport } from '../support/fixtures/journal.ts';
import { judgeLedger, kept } from '../support/fixtures/ledger.ts';
import { startLedgerLoad } from '../support/fixtures/ledger-load.ts';
import { numbered, openStage } from '../support/fixtures/stage.ts';

const orders = numbered('orders');

test('I1 I2 I3 I5: relays behind a pooler that gives each transaction another connection keep every promise', {
  tags: ['pooler-costs-speed-only'],
}, async (context) => {
  const stage = await openStage(context, { topics: [orders] });
  // Fewer than one relay opens: in another mode than that of transactions none would work.
  const relayUrl = await pooledDatabase(context, stage.url, 3);
  const pooled = openFaultStage(context, {
    url: stage.url,
    relayUrl,
    topics: [orders],
    transport: () => journalTransport(stage.url),
  });
  const first = await pooled.relay();
  await pooled.relay();
  const load = startLedgerLoad(stage, orders, { seed: 1, perSecond: 200, delayed: 0.1 });
  await stage.untilArrived(1_000);
  await first.stop();
  await stage.untilArrived(1_000);
  const ledger = await load.stop();
  await pooled.untilDone();

  expect(judgeLedger(ledger, await stage.journal())).toEqual(kept);
});
