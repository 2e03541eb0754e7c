import { setTimeout as delay } from 'node:timers/promises';
import { expect, type TestContext, test } from 'vitest';
import { startTemporal } from '../../dev/servers/index.ts';
import { type CancelAnswer, cancel, reschedule } from '../../src/outbox/change.ts';
import { type Stored, sendBatch } from '../../src/outbox/send.ts';
import { faultRounds, faultSeeds, faultTimeoutMs } from '../support/faults/fault-scale.ts';
import { brokenPromises } from '../support/fixtures/kept-promises.ts';
import { seededRandom } from '../support/fixtures/random.ts';
import { numbered, openStage, type Stage } from '../support/fixtures/stage.ts';
import { until } from '../support/fixtures/until.ts';
import { untilDone } from '../support/fixtures/until-done.ts';

const reminders = numbered('reminders');
const messages = 2_000;
/** Each kill has its share of the messages: the first is due after this time, the last one so much later. */
const firstDueMs = 4_000;
const spreadMs = 16_000;
/** Seconds where nothing else runs. */
const overdueOutWithinMs = 60_000;

/** Due times at the end of everything, by id, in milliseconds since the epoch. */
async function dueTimes(stage: Stage): Promise<ReadonlyMap<string, number>> {
  const rows = await stage.database.query<{ id: string; dueMs: number }>(
    'select id, extract(epoch from due_at)::float8 * 1000 as "dueMs" from outbox.message',
  );
  return new Map(rows.map(({ id, dueMs }) => [id, dueMs]));
}

async function killedDuringWaits(context: TestContext, seed: number): Promise<void> {
  const random = seededRandom(seed);
  const server = await startTemporal({ env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  context.onTestFinished(() => server.stop());
  const { node } = server;
  if (node === undefined) throw new Error('This test kills the server, so it has to be one of its own.');
  const stage = await openStage(context, { topics: [reminders], temporalAddress: server.address });
  const relay = await stage.relay();
  const kills = faultRounds(2);
  const stored: Stored[] = [];
  const storeShare = async (): Promise<void> => {
    const share = Array.from({ length: Math.ceil(messages / kills) }, (_, n) => ({
      payload: { n: stored.length + n },
      key: `k${n % 64}`,
      after: firstDueMs + random.below(spreadMs),
    }));
    stored.push(...(await stage.commit((tx) => sendBatch(tx, reminders, share))));
  };
  const answers = new Map<string, CancelAnswer>();
  const moved = new Set<string>();
  /** Some are canceled and some moved to a later time, whatever Temporal does. */
  const change = async (): Promise<void> => {
    for (let n = 0; n < 60; n += 1) {
      const { id } = random.pick(stored) ?? { id: '' };
      if (answers.has(id) || moved.has(id)) continue;
      if (random.chance(0.7)) answers.set(id, await stage.commit((tx) => cancel(tx, reminders, { id })));
      else if (
        (await stage.commit((tx) => reschedule(tx, reminders, { id }, { after: 4_000 }))) === 'rescheduled'
      )
        moved.add(id);
    }
  };

  const failures = (): number =>
    relay.events.filter(({ type }) => type === 'error' || type === 'temporal-away').length;
  let healedAtMs = 0;
  for (let kill = 1; kill <= kills; kill += 1) {
    const earlier = await stage.arrived();
    await storeShare();
    await change();
    // The first is out, and most of them are not.
    await until(async () => (await stage.arrived()) > earlier, overdueOutWithinMs);
    await delay(random.below(3_000));
    const failuresBefore = failures();
    await node.stop('SIGKILL');
    const before = await stage.arrived();
    // What becomes due is released and sent all the same.
    await until(() => failures() > failuresBefore, 90_000);
    await change();
    await delay(2_000 + random.below(3_000));
    await node.start();
    healedAtMs = Date.now();
    await until(async () => (await stage.arrived()) > before, overdueOutWithinMs);
  }
  await untilDone(stage.database, 150_000);

  const journal = await stage.journal();
  const due = await dueTimes(stage);
  const arrivedIds = new Set(journal.map(({ id }) => id));
  const wasCanceled = ({ id }: { readonly id: string }): boolean => answers.get(id) === 'canceled';
  expect(stored.filter((message) => !arrivedIds.has(message.id) && !wasCanceled(message))).toEqual([]);
  expect(journal.filter(wasCanceled)).toEqual([]);
  expect(journal.filter(({ id, atMs }) => atMs < (due.get(id) ?? Number.POSITIVE_INFINITY))).toEqual([]);
  expect(journal).toHaveLength(arrivedIds.size);
  const latest = Math.max(
    ...journal.map(({ id, atMs }) => atMs - Math.max(due.get(id) ?? Number.NaN, healedAtMs)),
  );
  expect(latest).toBeLessThan(overdueOutWithinMs);
  expect(await brokenPromises(stage.database)).toEqual([]);
  expect([...answers.values()].filter((answer) => answer === 'canceled').length).toBeGreaterThan(10);
  expect(moved.size).toBeGreaterThan(5);
}

test.for(faultSeeds(19))(
  'I1 I5 I6 I7 I8 F19: Temporal killed at random while 2,000 messages wait loses none and hastens none (seed %i)',
  { tags: ['no-loss'], timeout: faultTimeoutMs(500_000) },
  (seed, context) => killedDuringWaits(context, seed),
);
