import { expect, test } from 'vitest';
import { inTurn, warmUp } from '../../../bench/warm-up.ts';

/** Drains that cost the servers so much, in turn. */
function costing(...costs: readonly number[]): () => Promise<{ serverUsPerMessage: Record<string, number> }> {
  const left = [...costs];
  return async () => ({ serverUsPerMessage: { kafka: left.shift() ?? 0, postgres: 5 } });
}

test.each([
  { costs: [16, 16, 16], drains: 3, until: 'two in a row cost no less' },
  { costs: [16, 9, 5, 4, 4], drains: 5, until: 'they cost hardly less' },
  { costs: [16, 30, 5, 4, 30, 4], drains: 5, until: 'they cost no less, whatever disturbs one of them' },
  { costs: [900, 700, 500, 400, 300, 200, 100, 50, 20], drains: 8, until: 'it has taken long enough' },
])('servers are warmed up until $until', async ({ costs, drains }) => {
  expect(await warmUp(costing(...costs))).toBe(drains);
});

test('where nothing tells what servers cost, three drains warm them up', async () => {
  expect(await warmUp(async () => ({ serverUsPerMessage: {} }))).toBe(3);
});

test('each round begins with the next contender, and every one runs once in it', () => {
  const rounds = [1, 2, 3, 4].map((round) => inTurn(['a', 'b', 'c'], round).join(''));
  expect(rounds).toEqual(['abc', 'bca', 'cab', 'abc']);
  expect(inTurn([], 1)).toEqual([]);
});
