import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Duration } from '../../../src/core/duration.ts';
import { HealthRecord } from '../../../src/core/health.ts';
import { Running } from '../../../src/core/running.ts';
import { byNow, fakeTime, pass, realTime, soFar } from '../../support/fixtures/fake-time.ts';

beforeEach(fakeTime);
afterEach(realTime);

/** What runs, and which of its ends were called. */
function running() {
  const health = new HealthRecord();
  const made = new Running(health);
  const ended: string[] = [];
  /** One that never ends. */
  const hang = (name: string): void =>
    made.add(() => {
      ended.push(name);
      return new Promise(() => undefined);
    });
  const add = (name: string, end: () => Promise<void> = async () => undefined): void =>
    made.add(() => {
      ended.push(name);
      return end();
    });
  return { health, made, ended, add, hang };
}

/** How long it takes, in milliseconds; infinitely long: more than five seconds. */
async function timed(work: Promise<unknown>): Promise<number> {
  const told = soFar(work);
  let tookMs = 0;
  for (; told.state === 'open' && tookMs < 5_000; tookMs += 1) await pass(1);
  return told.state === 'open' ? Infinity : tookMs;
}

test('everything ends in reverse order, also after one that fails, and a second stop ends with the first', async () => {
  const { made, ended, add } = running();
  add('database');
  add('workers', () => Promise.reject(new Error('no')));
  add('watcher');

  const [first, second] = [made.stop(), made.stop({ timeout: '1s' })];
  expect(made.health.state).toBe('stopping');
  await expect(first).rejects.toThrow('no');
  await expect(second).rejects.toThrow('no');
  expect(ended).toEqual(['watcher', 'workers', 'database']);
  expect(made.health.state).toBe('stopped');
  await byNow(made.over);
});

test('a part added after the end is ended at once', async () => {
  const { made, ended, add } = running();
  await made.stop();
  add('late');
  expect(ended).toEqual(['late']);
});

test('with nothing in hand a stop does not wait for an unreachable server, and everything is asked to end', async () => {
  const { made, ended, add, hang, health } = running();
  add('database');
  hang('workers');
  health.failed('Temporal', 'refused', { away: true });

  expect(await timed(made.stop())).toBeLessThan(900);
  expect(ended).toEqual(['workers', 'database']);
});

test('a silent server counts as unreachable', async () => {
  const { made, hang, health } = running();
  hang('workers');
  void health.during('Temporal', new Promise(() => undefined));

  expect(await timed(made.stop())).toBeLessThan(1_000);
});

test('a stop waits for what is in hand, whatever is unreachable', async () => {
  const { made, ended, add, health } = running();
  let inHand = true;
  made.inHand(() => inHand);
  let settle: () => void = () => undefined;
  add('batch', () => new Promise((resolve) => (settle = resolve)));
  health.failed('PostgreSQL', 'refused', { away: true });
  let over = false;
  const stopping = made.stop().then(() => (over = true));
  // Longer than any wait for an unreachable server.
  await pass(800);
  expect(over).toBe(false);
  inHand = false;
  settle();
  await stopping;
  expect(ended).toEqual(['batch']);
});

test('at the time limit of a stop its deadline fires, and a second later the stop ends', async () => {
  const { made, hang } = running();
  made.inHand(() => true);
  hang('batch');
  const fired = new Promise((resolve) => made.deadline.addEventListener('abort', resolve));

  const stopping = timed(made.stop({ timeout: 100 }));
  expect(await timed(fired)).toBeLessThan(500);
  const tookMs = await stopping;
  expect(tookMs).toBeGreaterThan(800);
  expect(tookMs).toBeLessThan(1_500);
});

test.each([0, -1, '2 days', 'soon', Number.NaN] as Duration[])(
  'timeout %s is refused before anything is stopped',
  async (timeout) => {
    const { made, ended, add } = running();
    add('database');
    await expect(made.stop({ timeout })).rejects.toMatchObject({
      code: 'OUTBOX_OPTION_INVALID',
      details: { option: 'timeout' },
    });
    expect(ended).toEqual([]);
    expect(made.stopping.aborted).toBe(false);
  },
);
