import { expect, test } from 'vitest';
import type { LetterOutcome } from '../../../src/inbox/parked/dead-letter.ts';
import { until } from '../../support/fixtures/until.ts';
import { failed, lettersStage } from './letters-bench.ts';

const no: LetterOutcome = { kind: 'refused', reason: 'too long' };

test('with nothing to copy no turn is taken', async () => {
  const { database, letters, sent, turns } = lettersStage([]);
  await until(() => database.said('from outbox.parked p').length > 0, 5_000, 1);
  await letters.stop();

  expect(database.said('from outbox.parked p')).toEqual([['shop', ['orders', 'returns'], '0', 1]]);
  expect([turns(), sent]).toEqual([[], []]);
});

test('a turn lost during the round ends it', async () => {
  const { database, over, sent } = lettersStage([failed(1)]);
  let asked = 0;
  database.on('outbox.letter_turn as t', () => ((asked += 1) === 1 ? [{}] : []));

  await over();

  expect(sent).toEqual([]);
});

test('dead letters blocked behind a refused one of their key are sent without it; if all are blocked, they count as refused', async () => {
  const { copied, events, over, sent, world } = lettersStage([failed(1), failed(2), failed(3)]);
  const first = (count: number): LetterOutcome => (count === 3 ? no : { kind: 'taken' });
  world.answer = (some) => some.map((_, n) => (n > 0 ? { kind: 'blocked' } : first(some.length)));
  await over();
  expect(sent.map((some) => some.map(({ headers }) => headers['ce_id']))).toEqual([
    ['id-1', 'id-2', 'id-3'],
    ['id-2', 'id-3'],
    ['id-3'],
  ]);
  expect(copied()).toEqual([
    ['shop', ['id-2']],
    ['shop', ['id-3']],
  ]);
  await until(() => events.length > 0, 5_000, 1);
  expect(events[0]).toMatchObject({ error: { details: { count: 1 } } });

  const all = lettersStage([failed(1), failed(2)]);
  all.world.answer = (some) => some.map(() => ({ kind: 'blocked' }));
  await all.over();
  await until(() => all.events.length > 0, 5_000, 1);
  expect(all.sent).toHaveLength(1);
  expect(all.events[0]).toMatchObject({
    error: {
      message: '2 dead letters were not accepted, the first at orders.dead: all of them were blocked',
    },
  });
});

test('a stop ends between two pages and closes the connections', async () => {
  const { letters, sent, world } = lettersStage(Array.from({ length: 250 }, (_, n) => failed(n + 1)));
  let stopping: Promise<void> | undefined;
  world.answer = (some) => {
    stopping ??= letters.stop();
    return some.map(() => ({ kind: 'taken' }));
  };
  await until(() => stopping !== undefined, 5_000, 1);
  await stopping;

  expect(sent).toHaveLength(1);
  expect(world.closed).toBe(1);
});
