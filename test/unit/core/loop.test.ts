import { afterEach, beforeEach, expect, test } from 'vitest';
import { Loop, looking, type RoundRest } from '../../../src/core/loop.ts';
import { byNow, fakeTime, pass, realTime, soFar } from '../../support/fixtures/fake-time.ts';
import { gate } from '../../support/fixtures/gate.ts';

beforeEach(fakeTime);
afterEach(realTime);

/** A loop whose rounds take no time, and how many there were. */
function counting(rests: number | RoundRest) {
  const counted = { rounds: 0 };
  const loop = new Loop(async () => {
    counted.rounds += 1;
    return rests;
  });
  return { counted, loop };
}

test('a loop works at once, then after each rest, and no more after its stop', async () => {
  const { counted, loop } = counting(1_000);
  loop.start();
  loop.start();
  expect(counted.rounds).toBe(1);
  await pass(999);
  expect(counted.rounds).toBe(1);
  await pass(1);
  expect(counted.rounds).toBe(2);
  await byNow(loop.stop());
  expect(loop.stopping.aborted).toBe(true);
  loop.nudge();
  await pass(60_000);
  expect(counted.rounds).toBe(2);
});

test('a loop that was stopped before its start never works', async () => {
  const { counted, loop } = counting(1_000);
  await byNow(loop.stop());
  loop.start();
  loop.nudge();
  await pass(60_000);
  expect(counted.rounds).toBe(0);
});

test('a loop that begins later rests first, in spite of a nudge', async () => {
  const { counted, loop } = counting(1_000);
  loop.start(500);
  loop.nudge();
  await pass(499);
  expect(counted.rounds).toBe(0);
  await pass(1);
  expect(counted.rounds).toBe(1);
  await pass(999);
  expect(counted.rounds, 'the first round has answered the nudge').toBe(1);
  await byNow(loop.stop());
});

test('a nudge ends a rest, but not the part of it that is kept', async () => {
  const { counted, loop } = counting({ ms: 5_000, keptMs: 250 });
  loop.start();
  await pass(0);
  loop.nudge();
  await pass(249);
  expect(counted.rounds).toBe(1);
  await pass(1);
  expect(counted.rounds).toBe(2);
  await pass(1_000);
  loop.nudge();
  await pass(0);
  expect(counted.rounds).toBe(3);
  await pass(4_999);
  expect(counted.rounds).toBe(3);
  await pass(1);
  expect(counted.rounds).toBe(4);
  await pass(100);
  await byNow(loop.stop());
});

test('a nudge during a round makes another one follow', async () => {
  const opened = gate();
  let rounds = 0;
  const loop = new Loop(async () => {
    rounds += 1;
    if (rounds === 1) await opened.opened;
    return 60_000;
  });
  loop.start();
  loop.nudge();
  loop.nudge();
  opened.open();
  await pass(0);
  expect(rounds).toBe(2);
  await byNow(loop.stop());
});

test('a stop waits for the round under way, and one of looks does not', async () => {
  const opened = gate();
  const works = new Loop(async () => {
    await opened.opened;
    return 0;
  });
  const looks = looking(() => opened.opened, 1_000);
  works.start();
  looks.start();
  const stopping = soFar(works.stop());
  await byNow(looks.stop());
  expect(stopping.state).toBe('open');
  opened.open();
  await pass(0);
  expect(stopping.state).toBe('resolved');
});
