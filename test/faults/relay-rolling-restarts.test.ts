import { expect, test } from 'vitest';
import { faultRounds, faultTimeoutMs } from '../support/faults/fault-scale.ts';
import { longestGapMs } from '../support/fixtures/journal-check.ts';
import { brokenPromises } from '../support/fixtures/kept-promises.ts';
import { judgeLedger, kept, repeats } from '../support/fixtures/ledger.ts';
import { startLedgerLoad } from '../support/fixtures/ledger-load.ts';
import { numbered, openStage } from '../support/fixtures/stage.ts';
import { untilDone } from '../support/fixtures/until-done.ts';

const orders = numbered('orders');
/** A relay gives its drains 10 s; a machine that is starting others takes some more. One that hangs stays. */
const exitsWithinMs = 40_000;
const restarts = faultRounds(5);

test(`I1 I3 I11 F25: two relays restarted ${restarts} times in turn under load repeat nothing, and each exits by itself`, {
  tags: ['duplicates-bounded'],
  timeout: faultTimeoutMs(600_000),
}, async (context) => {
  const stage = await openStage(context, { topics: [orders] });
  const all = await Promise.all([stage.relayProcess(), stage.relayProcess()]);
  const relays = [...all];
  const load = startLedgerLoad(stage, orders, { seed: 25, perSecond: 150, delayed: 0.1 });
  await stage.untilArrived(50);
  const exits: { readonly code: unknown; readonly ms: number }[] = [];
  const publishers = new Set<string>();
  for (let restart = 0; restart < restarts; restart += 1) {
    // Its successor is up before it goes, as in a rollout.
    const successor = await stage.relayProcess();
    relays.push(successor);
    all.push(successor);
    // The one that delivers, so that every restart hands a lane over.
    const last = await stage.lastPublisher();
    publishers.add(last ?? '');
    const [leaving] = relays.splice(
      Math.max(
        0,
        relays.findIndex(({ publisher }) => publisher === last),
      ),
      1,
    );
    if (leaving === undefined) throw new Error('No relay is left to restart.');
    const askedAt = performance.now();
    leaving.signal('SIGTERM');
    const [code] = (await leaving.exited) as [unknown];
    exits.push({ code, ms: performance.now() - askedAt });
    await stage.untilArrived(20);
  }
  const ledger = await load.stop();
  await untilDone(stage.database);

  const journal = await stage.journal();
  expect(await brokenPromises(stage.database)).toEqual([]);
  expect(judgeLedger(ledger, journal)).toEqual(kept);
  expect(repeats(journal)).toBe(0);
  expect(exits.filter(({ code, ms }) => code !== 0 || ms > exitsWithinMs)).toEqual([]);
  expect(publishers.size, 'every restart hit the relay that delivered').toBe(restarts);
  // Lanes are handed over: no relay waits for the lease of one that has stopped to expire.
  const lapses = all.flatMap(({ events }) =>
    events.filter((event) => event.type === 'lane-acquired' && event.lapsed),
  );
  expect(lapses).toEqual([]);
  expect(longestGapMs(journal)).toBeLessThan(exitsWithinMs);
});
