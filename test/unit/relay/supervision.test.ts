import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { WorkflowStarter } from '../../../src/relay/ports.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import { Supervision } from '../../../src/relay/supervision.ts';
import { fakeTime, pass, realTime, soFar } from '../../support/fixtures/fake-time.ts';

beforeEach(fakeTime);
afterEach(realTime);

const start = { topic: 'orders', lane: 0, workflowId: 'w', replace: false };
const down = new Error('down');

/** An engine whose answers a test decides, by how long they take and whether they fail. */
function engine() {
  const events: RelayEvent[] = [];
  const told = { asked: 0, takesMs: 0, fails: false };
  const workflows: WorkflowStarter = {
    startLane: async () => {
      told.asked += 1;
      const { fails, takesMs } = told;
      await new Promise((resolve) => setTimeout(resolve, takesMs));
      if (fails) throw down;
    },
    startMessage: async () => undefined,
    startBulk: async () => undefined,
    terminatedMessages: async () => [],
  };
  const supervision = new Supervision((event) => events.push(event));
  return { supervision, workflows, told, events };
}

async function answer(asked: Promise<boolean>, withinMs: number) {
  const so = soFar(asked);
  await pass(withinMs);
  return so.value;
}

test('without an engine no workflow comes, and that is not an outage', async () => {
  const { supervision, workflows, events } = engine();
  expect(supervision.workflows).toBeUndefined();
  expect(await answer(supervision.ask(start), 0)).toBe(false);
  expect(events).toEqual([]);
  supervision.begin(workflows);
  expect(supervision.workflows).toBe(workflows);
});

test('lanes are requested concurrently, and an answer within a second leaves nothing behind', async () => {
  const { supervision, workflows, told, events } = engine();
  supervision.begin(workflows);
  told.takesMs = 999;
  const [first, second] = [soFar(supervision.ask(start)), soFar(supervision.ask(start))];
  expect(told.asked).toBe(2);
  await pass(998);
  expect(first.state).toBe('open');
  await pass(1);
  expect([first.value, second.value]).toEqual([true, true]);
  await pass(5_000);
  expect(events).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

test('an engine that refuses for five seconds is reported once, asked by one request at a time, and its return is reported with the duration', async () => {
  const { supervision, workflows, told, events } = engine();
  supervision.begin(workflows);
  told.fails = true;
  expect(await answer(supervision.ask(start), 0)).toBe(false);

  await pass(4_000);
  told.takesMs = 500;
  const [first, second] = [soFar(supervision.ask(start)), soFar(supervision.ask(start))];
  await pass(0);
  expect(told.asked).toBe(2);
  expect(second.value).toBe(false);
  expect(first.state).toBe('open');
  await pass(500);
  expect(first.value).toBe(false);
  await pass(499);
  expect(events).toEqual([]);
  await pass(1);
  expect(events).toEqual([{ type: 'temporal-away', error: down }]);

  told.fails = false;
  expect(await answer(supervision.ask(start), 500)).toBe(true);
  expect(events.slice(1)).toEqual([{ type: 'temporal-back', awayMs: 5_500 }]);
  told.takesMs = 0;
  expect(await answer(supervision.ask(start), 0)).toBe(true);
  expect(events).toHaveLength(2);
});

test('an engine that is silent for a second counts as unreachable, is reported after five more, and its late answer ends that', async () => {
  const { supervision, workflows, told, events } = engine();
  supervision.begin(workflows);
  told.takesMs = 7_000;
  const asked = soFar(supervision.ask(start));
  await pass(999);
  expect(asked.state).toBe('open');
  await pass(1);
  expect(asked.value).toBe(false);
  expect(await answer(supervision.ask(start), 0)).toBe(false);
  expect(told.asked).toBe(1);
  await pass(4_999);
  expect(events).toEqual([]);
  await pass(1);
  expect(events).toEqual([{ type: 'temporal-away', error: new Error('No answer for 1 s.') }]);
  await pass(1_000);
  expect(events.slice(1)).toEqual([{ type: 'temporal-back', awayMs: 6_000 }]);
  told.takesMs = 0;
  expect(await answer(supervision.ask(start), 0)).toBe(true);
});

test('an engine that is slow or refuses now and then, or as the relay stops, is never reported', async () => {
  const { supervision, workflows, told, events } = engine();
  supervision.begin(workflows);
  for (const [takesMs, fails] of [
    [1_600, false],
    [0, true],
  ] as const) {
    Object.assign(told, { takesMs, fails });
    expect(await answer(supervision.ask(start), 1_700)).toBe(false);
    Object.assign(told, { takesMs: 0, fails: false });
    expect(await answer(supervision.ask(start), 0)).toBe(true);
    await pass(10_000);
  }
  told.fails = true;
  expect(await answer(supervision.ask(start), 0)).toBe(false);
  supervision.stop();
  expect(await answer(supervision.ask(start), 10_000)).toBe(false);
  expect(events).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});
