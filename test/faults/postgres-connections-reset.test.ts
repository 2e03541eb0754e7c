import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { faultRounds, faultSeeds, faultTimeoutMs } from '../support/fault-scale.ts';
import { openFaultStage } from '../support/fault-stage.ts';
import { journalTransport } from '../support/journal.ts';
import { judgeLedger, kept, repeats } from '../support/ledger.ts';
import { startLedgerLoad } from '../support/ledger-load.ts';
import { proxiedDatabase } from '../support/proxied-database.ts';
import { numbered, openStage } from '../support/stage.ts';

const orders = numbered('orders');
const everyMs = 1_000;
const resets = faultRounds(8);

test.for(faultSeeds(9))(
  `I1 I2 I3 I5 I11 F09: a relay whose connections to PostgreSQL are all reset once a second, ${resets} times, keeps half of its rate (seed %i)`,
  { timeout: faultTimeoutMs(90_000) },
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
    const load = startLedgerLoad(stage, orders, { seed, perSecond: 300, delayed: 0.1 });
    await stage.untilArrived(50);
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
    const disturbed = await arrivedWhile(true);
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
