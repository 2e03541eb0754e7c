import { expect, test } from 'vitest';
import { SpentBeginnings } from '../../../../src/api/sign-in/spent-beginnings.ts';

test('a beginning is spent once, and remembered for as long as it can be opened', () => {
  const spent = new SpentBeginnings();

  expect(spent.spend('a', 0)).toBe(true);
  expect(spent.spend('b', 1_000)).toBe(true);
  expect([spent.spend('a', 599_999), spent.spend('b', 599_999)]).toEqual([false, false]);
  expect([spent.spend('a', 600_500), spent.spend('b', 600_500)]).toEqual([true, false]);
});

test('strangers who begin without end make it forget the oldest, and keep no more', () => {
  const spent = new SpentBeginnings();
  for (let n = 0; n < 10_001; n += 1) spent.spend(`s${n}`, 0);

  expect([spent.spend('s0', 1), spent.spend('s10000', 1)]).toEqual([true, false]);
});
