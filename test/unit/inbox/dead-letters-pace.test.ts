import { afterEach, beforeEach, expect, test } from 'vitest';
import { fakeTime, pass, realTime, soFar } from '../../support/fixtures/fake-time.ts';
import { gate } from '../../support/fixtures/gate.ts';
import { failed, lettersStage } from './letters-bench.ts';

beforeEach(fakeTime);
afterEach(realTime);

const usual = { paces: {} };

test('it looks every ten seconds, and at once after a nudge', async () => {
  const { database, letters } = lettersStage([], usual);
  const looks = (): number => database.said('from outbox.parked p').length;
  await pass(9_999);
  expect(looks()).toBe(1);
  await pass(1);
  expect(looks()).toBe(2);
  letters.nudge();
  await pass(0);
  expect(looks()).toBe(3);
  await pass(9_999);
  expect(looks()).toBe(3);
});

test('a message that fails during a round starts another one after it', async () => {
  const { letters, sent, world } = lettersStage([failed(1)], usual);
  world.answer = (some) => {
    // The database no longer shows what was copied.
    world.rows = sent.length === 1 ? [failed(2)] : [];
    if (sent.length === 1) letters.nudge();
    return some.map(() => ({ kind: 'taken' }));
  };
  await pass(0);
  expect(sent.flat().map(({ headers }) => headers['ce_id'])).toEqual(['id-1', 'id-2']);
});

test('it asks every second while another consumer has the turn, also after a nudge', async () => {
  const { letters, turns, world } = lettersStage([failed(1)], usual);
  world.turn = false;
  await pass(0);
  expect(turns()).toHaveLength(1);
  letters.nudge();
  await pass(999);
  expect(turns()).toHaveLength(1);
  await pass(1);
  expect(turns()).toHaveLength(2);
});

test('a failed round returns its turn and is repeated after 10, 20 and then every 30 seconds, despite nudges', async () => {
  const { database, events, letters, sent } = lettersStage([failed(1)], {
    ...usual,
    sender: { send: () => Promise.reject(new Error('away')), close: async () => undefined },
  });
  const ended = (): number => database.said('delete from outbox.letter_turn').length;
  await pass(0);
  for (const [n, pauseMs] of [10_000, 20_000, 30_000, 30_000].entries()) {
    expect([events.length, ended()]).toEqual([n + 1, n + 1]);
    expect(events.at(-1)).toEqual({
      type: 'dead-letters-failing',
      error: new Error('away'),
      retryInMs: pauseMs,
    });
    letters.nudge();
    await pass(pauseMs - 1);
    expect(events).toHaveLength(n + 1);
    await pass(1);
  }
  expect(sent).toEqual([]);
});

test('after a round that succeeded, the next one that fails is repeated after 10 seconds again', async () => {
  const { copied, database, events, letters, world } = lettersStage([failed(1)], usual);
  database.on('set copied_at', () => {
    throw new Error('away');
  });
  await pass(0);
  await pass(10_000);
  database.on('set copied_at', () => []);
  world.rows = [];
  await pass(20_000);
  database.on('set copied_at', () => {
    throw new Error('away');
  });
  world.rows = [failed(2)];
  letters.nudge();
  await pass(0);

  expect(events.map((event) => 'retryInMs' in event && event.retryInMs)).toEqual([10_000, 20_000, 10_000]);
  expect(copied().at(-1)).toEqual(['shop', ['id-2']]);
});

test('a turn that cannot be returned fails nothing: it expires', async () => {
  const { copied, database, events, turns } = lettersStage([failed(1)], usual);
  database.on('delete from outbox.letter_turn', () => {
    throw new Error('away');
  });
  await pass(0);
  expect([copied(), events]).toEqual([[['shop', ['id-1']]], []]);
  await pass(10_000);
  expect(turns().length).toBeGreaterThan(2);
});

test('a stop waits for the dead letters in flight, marks them, and only then closes the connections', async () => {
  const { open, opened } = gate();
  const steps: string[] = [];
  const { copied, letters } = lettersStage([failed(1)], {
    ...usual,
    sender: {
      send: async (some) => {
        await opened;
        steps.push('sent');
        return some.map(() => ({ kind: 'taken' }));
      },
      close: async () => void steps.push('closed'),
    },
  });
  await pass(0);
  const stopping = soFar(letters.stop());
  await pass(60_000);
  expect([stopping.state, steps]).toEqual(['open', []]);
  open();
  await pass(0);
  expect([stopping.state, steps, copied()]).toEqual(['resolved', ['sent', 'closed'], [['shop', ['id-1']]]]);
});

test('after a stop blocked dead letters are not sent again', async () => {
  const { letters, sent, world } = lettersStage([failed(1), failed(2)], usual);
  world.answer = (some) => {
    void letters.stop();
    return some.map((_, n) => (n === 0 ? { kind: 'taken' } : { kind: 'blocked' }));
  };
  await pass(0);
  expect(sent.map((some) => some.length)).toEqual([2]);
});
