import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openDatabase } from '../../src/store/database/pool.ts';
import { faultRounds, faultSeeds, faultTimeoutMs } from '../support/faults/fault-scale.ts';
import { openFaultStage } from '../support/faults/fault-stage.ts';
import { proxiedDatabase } from '../support/faults/proxied-database.ts';
import { journalTransport } from '../support/fixtures/journal.ts';
import { judgeLedger, kept, repeats } from '../support/fixtures/ledger.ts';
import { startLedgerLoad } from '../support/fixtures/ledger-load.ts';
import { numbered, openStage } from '../support/fixtures/stage.ts';

const orders = numbered('orders');
const resets = faultRounds(8);

test.for(faultSeeds(9))(
  `I1 I2 I3 I5 I11 F09: a relay whose connections to PostgreSQL are all reset once a second, ${resets} times, keeps half of its rate (seed %i)`,
  { timeout: faultTimeoutMs(400_000) },
  async (seed, context) => {
    const stage = await openStage(context, { topics: [orders] });
    const { proxy, url } = await proxiedDatabase(context, stage.url, seed);
    // The relay alone: what writers lose by it is another test's.
    const faulty = openFaultStage(context, {
      url: stage.url,
      relayUrl: url,
      topics: [orders],
      transport: () => journalTransport(stage.url),
    });
    await faulty.relay();
    const load = startLedgerLoad(stage, orders, { seed, perSecond: 200, delayed: 0.1 });
    await stage.untilArrived(50);
    const everyMs = await pauseMs(url);
    const arrivedWhile = async (reset: boolean): Promise<number> => {
      const before = await stage.arrived();
      for (let round = 0; round < resets; round += 1) {
        await delay(everyMs);
        if (reset) proxy.inject({ kind: 'reset' });
        proxy.heal();
      }
      return (await stage.arrived()) - before;
    };
    const undisturbed = await arrivedWhile(false);
    // What else the machine does may fall on one of these times; a relay that loses its lane is slow in all of them.
    let disturbed = 0;
    for (let tries = 0; tries < 3 && disturbed <= undisturbed / 2; tries += 1)
      disturbed = Math.max(disturbed, await arrivedWhile(true));
    expect(proxy.fired('reset')).toBeGreaterThanOrEqual(resets);
    const ledger = await load.stop();
    await faulty.untilDone();

    expect(disturbed).toBeGreaterThan(undisturbed / 2);
    const journal = await stage.journal();
    expect(judgeLedger(ledger, journal)).toEqual(kept);
    // The broker heard everything, and every settle was said again until it was stored.
    expect(repeats(journal)).toBe(0);
  },
);

/** A second between two resets, unless the machine takes so long for connections that hardly anything else would be done. */
async function pauseMs(url: string): Promise<number> {
  const tries: number[] = [];
  for (let n = 0; n < 5; n += 1) {
    const beganAt = performance.now();
    const database = openDatabase({ url, connections: 1 });
    await database.query('select 1').finally(() => void database.close());
    tries.push(performance.now() - beganAt);
  }
  const connectMs = tries.toSorted((a, b) => a - b)[2] ?? Number.NaN;
  // Far less than a lease: a relay that lost its lane by a reset would never have it.
  return Math.min(4_000, Math.max(1_000, 25 * connectMs));
}
