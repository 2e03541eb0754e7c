import { setTimeout as delay } from 'node:timers/promises';
import { expect, test, type TestContext } from 'vitest';
import type { JournalEntry } from '../support/journal.ts';
import { judgeJournal, unexcusedDuplicates } from '../support/journal-check.ts';
import { startLoad } from '../support/load.ts';
import type { RelayProcess } from '../support/relay-process.ts';
import { seededRandom } from '../support/random.ts';
import { numbered, openStage, type Stage } from '../support/stage.ts';
import { until } from '../support/until.ts';

const orders = numbered('orders');

/** A lease of 10 s that was renewed at the kill, and what taking over costs. */
const takeoverWithinMs = 12_000;

/** The relay that published last. */
async function publisherOf(stage: Stage, relays: readonly RelayProcess[]): Promise<RelayProcess> {
  const last = await stage.lastPublisher();
  const relay = relays.find(({ publisher }) => publisher === last);
  if (relay === undefined) throw new Error('None of these relays has published last.');
  return relay;
}

/** Kills the relay that owns the lane, waits for the other one to go on, and puts a new one beside it. */
async function killOwner(stage: Stage, relays: RelayProcess[], replace: boolean): Promise<string> {
  const victim = await publisherOf(stage, relays);
  victim.signal('SIGKILL');
  await victim.exited;
  relays.splice(relays.indexOf(victim), 1);
  const replaced = replace ? stage.relayProcess().then((relay) => relays.push(relay)) : undefined;
  await until(async () => (await stage.lastPublisher()) !== victim.publisher);
  await replaced;
  return victim.publisher;
}

/** From the last message of a killed relay to the next message. */
function takeoverMs(entries: readonly JournalEntry[], killed: string): number {
  const last = entries.findLastIndex(({ publisher }) => publisher === killed);
  return (entries[last + 1]?.atMs ?? Number.NaN) - (entries[last]?.atMs ?? Number.NaN);
}

async function killedAtRandom(context: TestContext, seed: number, kills: number): Promise<void> {
  const stage = await openStage(context, { topics: [orders] });
  const random = seededRandom(seed);
  const relays = await Promise.all([stage.relayProcess(), stage.relayProcess()]);
  const load = startLoad(stage, orders, { perSecond: 200 });
  await stage.untilArrived(50);
  const killed: string[] = [];
  for (let kill = 0; kill < kills; kill += 1) {
    await delay(200 + random.next() * 800);
    killed.push(await killOwner(stage, relays, kill + 1 < kills));
  }
  const committed = await load.stop();
  await stage.untilDelivered(committed, 'orders');

  const journal = await stage.journal();
  expect(judgeJournal(journal, committed)).toMatchObject({ lost: [], ghosts: [], disordered: [] });
  expect(unexcusedDuplicates(journal, killed)).toEqual([]);
  for (const victim of killed) expect(takeoverMs(journal, victim)).toBeLessThan(takeoverWithinMs);
}

test.concurrent.for([1, 2])(
  'relays killed at random three times under load lose nothing and repeat at most a batch per kill (seed %i)',
  { timeout: 180_000 },
  (seed, context) => killedAtRandom(context, seed, 3),
);
