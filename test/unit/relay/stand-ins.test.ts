import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Lane } from '../../../src/core/lane.ts';
import type { DrainAnswer } from '../../../src/relay/drain-input.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import { StandIns } from '../../../src/relay/stand-ins.ts';
import type { LaneStart } from '../../../src/store/lane/starts.ts';
import { fakeTime, pass, realTime, soFar } from '../../support/fixtures/fake-time.ts';

beforeEach(fakeTime);
afterEach(realTime);

interface Drain {
  readonly lane: Lane;
  readonly signal: AbortSignal;
  readonly progress: () => void;
  readonly end: (answer: DrainAnswer) => void;
  readonly fail: (error: Error) => void;
}

const start = { topic: 'orders', lane: 0, workflowId: 'w', replace: true };
const late = Promise.resolve(false);
const coming = Promise.resolve(true);

/** Stand-ins whose drains a test ends; they end by themselves when they are told to. */
function stage(workflowComes = true) {
  const drains: Drain[] = [];
  const asked: LaneStart[] = [];
  const events: RelayEvent[] = [];
  const told = { left: 0, workflowComes };
  const standIns = new StandIns({
    drain: (lane, signal, progress) =>
      new Promise((end, fail) => {
        drains.push({ lane, signal, progress, end, fail });
        signal.addEventListener('abort', () => end('more'), { once: true });
      }),
    ask: async (again) => {
      asked.push(again);
      // Requests without a pause would never give the test a turn.
      return asked.length > 1_000 ? new Promise(() => undefined) : told.workflowComes;
    },
    left: () => (told.left += 1),
    report: (event) => events.push(event),
  });
  return { standIns, drains, asked, events, told };
}

test('a lane whose workflow is coming waits 0.3 s for it, another one not at all', async () => {
  for (const [asked, graceMs] of [
    [coming, 300],
    [late, 0],
  ] as const) {
    const { standIns, drains } = stage();
    standIns.offer(start, asked);
    await pass(Math.max(0, graceMs - 1));
    expect(drains).toHaveLength(graceMs === 0 ? 1 : 0);
    await pass(1);
    expect(drains.map(({ lane }) => lane)).toEqual([{ topic: 'orders', lane: 0 }]);
  }
});

test('a lane is drained by one stand-in at a time, concurrently with those of other lanes', async () => {
  const { standIns, drains } = stage();
  standIns.offer(start, late);
  standIns.offer(start, late);
  standIns.offer({ ...start, lane: 1 }, late);
  await pass(0);
  expect(drains.map(({ lane }) => lane.lane)).toEqual([0, 1]);
  drains[0]?.end('quiet');
  await pass(0);
  standIns.offer(start, late);
  await pass(0);
  expect(drains.map(({ lane }) => lane.lane)).toEqual([0, 1, 0]);
});

test('hundreds of lanes leak no listeners', async () => {
  const { standIns, drains } = stage();
  const warned = vi.spyOn(process, 'emitWarning');
  for (let lane = 0; lane < 200; lane += 1) standIns.offer({ ...start, lane }, coming);
  await pass(300);
  expect(drains).toHaveLength(200);
  expect(warned).not.toHaveBeenCalled();
  await standIns.stop();
  warned.mockRestore();
});

test('a lane that has more is looked for again, a quiet or taken one is not', async () => {
  const { standIns, drains, told, events } = stage();
  for (const [n, answer] of (['quiet', 'taken', 'more'] as const).entries()) {
    standIns.offer({ ...start, lane: n }, late);
    await pass(0);
    drains[n]?.end(answer);
    await pass(0);
    expect(told.left).toBe(answer === 'more' ? 1 : 0);
  }
  expect(events).toEqual([]);
});

test('a failed drain is reported, and its lane may be offered again', async () => {
  const { standIns, drains, told, events } = stage();
  const error = new Error('no connection');
  standIns.offer(start, late);
  await pass(0);
  drains[0]?.fail(error);
  await pass(0);
  expect(events).toEqual([{ type: 'error', during: 'drain', error }]);
  expect(told.left).toBe(0);
  standIns.offer(start, late);
  await pass(0);
  expect(drains).toHaveLength(2);
});

test('the first batches of all offered lanes, or their ends, are awaited', async () => {
  const { standIns, drains } = stage();
  for (const lane of [0, 1, 2]) standIns.offer({ ...start, lane }, late);
  const begun = soFar(standIns.begun());
  await pass(0);
  standIns.settled({ topic: 'orders', lane: 0 });
  drains[1]?.end('quiet');
  await pass(0);
  expect(begun.state).toBe('open');
  standIns.settled({ topic: 'orders', lane: 2 });
  await pass(0);
  expect(begun.state).toBe('resolved');
  standIns.settled({ topic: 'orders', lane: 9 });
});

test('every five seconds the workflow is requested without a replacement; once it comes the lane is freed', async () => {
  const { standIns, drains, asked, told } = stage(false);
  standIns.offer(start, late);
  const progressing = setInterval(() => drains[0]?.progress(), 1_000);
  await pass(4_999);
  expect(asked).toEqual([]);
  await pass(1);
  expect(asked).toEqual([{ ...start, replace: false }]);
  await pass(4_999);
  expect(asked).toHaveLength(1);
  told.workflowComes = true;
  await pass(1);
  expect(asked).toHaveLength(2);
  await pass(299);
  expect(drains[0]?.signal.aborted).toBe(false);
  await pass(1);
  expect(drains[0]?.signal.aborted).toBe(true);
  await pass(60_000);
  expect(asked).toHaveLength(2);
  expect(told.left).toBe(1);
  clearInterval(progressing);
});

test('a drain that has ended requests no workflow and leaves no timer behind', async () => {
  const { standIns, drains, asked } = stage();
  standIns.offer(start, late);
  await pass(1_000);
  drains[0]?.end('quiet');
  await pass(0);
  expect(vi.getTimerCount()).toBe(0);
  await pass(60_000);
  expect(asked).toEqual([]);
});

test('a stop ends the drains and waits for them; waiting and later ones are not drained', async () => {
  const { standIns, drains, told } = stage();
  standIns.offer(start, late);
  standIns.offer({ ...start, lane: 1 }, coming);
  await pass(0);
  const stopped = soFar(standIns.stop());
  expect(drains[0]?.signal.aborted).toBe(true);
  standIns.offer({ ...start, lane: 2 }, late);
  await pass(0);
  expect(stopped.state).toBe('resolved');
  expect(drains).toHaveLength(1);
  expect(told.left).toBe(0);
});

test('a stand-in that makes progress continues, and one without progress for half a minute is ended', async () => {
  const { standIns, drains, told } = stage(false);
  standIns.offer(start, late);
  await pass(0);
  for (let second = 0; second < 60; second += 1) {
    await pass(1_000);
    drains[0]?.progress();
  }
  expect(drains[0]?.signal.aborted).toBe(false);
  await pass(29_000);
  expect(drains[0]?.signal.aborted).toBe(false);
  await pass(1_000);
  expect(drains[0]?.signal.aborted).toBe(true);
  await pass(0);
  expect(told.left).toBe(1);
});
