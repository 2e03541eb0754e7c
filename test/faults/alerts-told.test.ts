import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { send, transaction } from '../../src/index.ts';
import { alertRuleNames } from '../../src/watch/figures.ts';
import { faultTimeoutMs } from '../support/faults/fault-scale.ts';
import {
  archiveBehind,
  brokerAway,
  certificateExpires,
  clockOff,
  drift,
  messagesLate,
  poisonForTheGroup,
  relayKilled,
  stuckConsumer,
  temporalAway,
} from '../support/faults/story-faults.ts';
import { addressPaused, noConsumer } from '../support/faults/story-group-faults.ts';
import { type Billing, type StoryRelay, type StoryStage, storyStage } from '../support/faults/story-stage.ts';
import { poisonForTheBroker, unannounced } from '../support/faults/story-topic-faults.ts';
import { judged } from '../support/fixtures/judged.ts';
import { turnNoLeaves } from '../support/fixtures/leaves.ts';

turnNoLeaves();

test('in a story of faults every alert is told once by two relays when it begins and once when it is over, and Prometheus sees the same', {
  tags: ['alerts-told-once'],
  timeout: faultTimeoutMs(400_000),
}, async (context) => {
  const stage = await storyStage(context);
  const { story } = stage;
  await expect.poll(() => stage.prometheus.firing(), { timeout: 60_000 }).toContain('OutboxNoRelay');
  const relays = [await stage.relay(0), await stage.relay(1)];
  const billing: Billing = { gate: Promise.resolve(), refusing: true };
  const consuming = await stage.consume(billing);
  await quiet(stage, async () => (await consuming.status()).handled);

  try {
    await faults(stage, relays, billing);
  } finally {
    const file = path.join(tmpdir(), 'outbox-alert-story.txt');
    const table = story.table();
    await writeFile(file, `${table}\n`);
    console.info(`${table}\n(also in ${file})`);
  }

  await judged(stage, 10);
  expect(story.told).toEqual(story.expected);
  const rules = new Set(story.expected.map((told) => told.split(' ', 1)[0]));
  expect(rules).toEqual(new Set(alertRuleNames));
  const fired = await stage.prometheus.fired();
  expect(fired).toEqual([...story.expectedOfPrometheus, 'OutboxNoRelay'].toSorted());
  expect(fired).toEqual(stage.prometheus.known);
  expect(await stage.prometheus.firing()).toEqual([]);
});

async function faults(stage: StoryStage, relays: readonly StoryRelay[], billing: Billing): Promise<void> {
  const { story } = stage;
  await story.fault(certificateExpires(stage));
  await story.fault(poisonForTheBroker(stage));
  await story.fault(stuckConsumer(stage, billing));
  await story.over(['successRate'], 'poison for the broker');
  await Promise.all(
    [poisonForTheGroup(stage, billing), messagesLate(stage)].map((fault) => story.fault(fault)),
  );
  // Together: without Temporal lanes change their owners while their broker is away.
  await Promise.all([brokerAway(stage, billing), temporalAway(stage)].map((fault) => story.fault(fault)));
  await Promise.all(
    [
      drift(stage),
      archiveBehind(stage),
      clockOff(relays),
      unannounced(stage),
      noConsumer(stage),
      addressPaused(stage),
    ].map((fault) => story.fault(fault)),
  );
  await story.fault(relayKilled(stage, relays));
}

/** Everything is delivered and handled, and nothing is told. */
async function quiet(
  { client, hook, prometheus, topics: { orders } }: StoryStage,
  handled: () => Promise<number>,
): Promise<void> {
  await transaction(client, async (tx) => {
    for (let n = 0; n < 20; n += 1) await send(tx, orders, { n });
    await send(tx, orders, { n: 20 }, { after: 200 });
  });
  await expect.poll(handled).toBe(21);
  await expect.poll(() => prometheus.firing()).toEqual([]);
  expect(hook.posted).toEqual([]);
}
