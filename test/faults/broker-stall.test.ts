import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { send } from '../../src/outbox/send.ts';
import { numbered, openStage } from '../support/fixtures/stage.ts';
import { until } from '../support/fixtures/until.ts';

const orders = numbered('orders');

test('I11 F13: a broker that blocks for 18 s occupies one drain, which sends its batch once', {}, async (context) => {
  const stage = await openStage(context, { topics: [orders] });
  const stallMs = 18_000;
  let calls = 0;
  let taken = 0;
  const stall = async (): Promise<void> => {
    calls += 1;
    if (calls > 1) return;
    taken = relay.events.length;
    await delay(stallMs);
  };
  const relay = await stage.relay({}, { before: stall });
  const stored = await stage.commit((tx) => send(tx, orders, { n: 1 }, { key: 'k' }));
  await until(async () => (await stage.stateOf(stored.id)) === 'published', 90_000);

  expect(calls).toBe(1);
  // Before it, a stand-in may have had the lane; after it, further drains may.
  const settled = (): number => relay.events.findIndex(({ type }) => type === 'batch-settled');
  await until(() => settled() >= 0);
  const [before, meanwhile] = [relay.events.slice(0, taken), relay.events.slice(taken, settled())];
  expect(before.map(({ type }) => type)).toContain('lane-acquired');
  expect(meanwhile.map(({ type }) => type)).not.toContain('lane-acquired');
  expect(relay.events.filter(({ type }) => type === 'lane-lost')).toEqual([]);
  // The drain goes on until the lane has been quiet for a while, or has come to its end on a slow machine.
  const workflow = stage.temporal.workflow.getHandle(stored.workflowId);
  const { raw } = await workflow.describe();
  const { events } = await workflow.fetchHistory();
  const attempts = [
    ...(raw.pendingActivities ?? []).map(({ attempt }) => attempt),
    ...(events ?? []).flatMap((event) => event.activityTaskStartedEventAttributes?.attempt ?? []),
  ];
  expect(new Set(attempts)).toEqual(new Set([1]));
});
