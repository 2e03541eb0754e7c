import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { send } from '../../src/outbox/send.ts';
import { numbered, openStage } from '../support/stage.ts';
import { until } from '../support/until.ts';

const orders = numbered('orders');

test('I11 F13: a broker that blocks for 18 s is met by one drain, which sends its batch once', {
  timeout: 60_000,
}, async (context) => {
  const stage = await openStage(context, { topics: [orders] });
  const stallMs = 18_000;
  let calls = 0;
  const before = async (): Promise<void> => {
    calls += 1;
    if (calls === 1) await delay(stallMs);
  };
  const relay = await stage.relay({}, { before });
  const stored = await stage.commit((tx) => send(tx, orders, { n: 1 }, { key: 'k' }));
  await until(async () => (await stage.stateOf(stored.id)) === 'published');

  expect(calls).toBe(1);
  expect(relay.events.filter(({ type }) => type === 'lane-acquired')).toHaveLength(1);
  expect(relay.events.filter(({ type }) => type === 'lane-lost')).toEqual([]);
  const description = await stage.temporal.workflow.getHandle(stored.workflowId).describe();
  expect(description.raw.pendingActivities?.map(({ attempt }) => attempt)).toEqual([1]);
});
