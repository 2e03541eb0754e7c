import { expect, test } from 'vitest';
import { OneSuspect } from '../../../src/inbox/handling/one-suspect.ts';

test('one suspect is in hand at a time, and waiting ones get their turns in order', async () => {
  const suspects = new OneSuspect();
  expect(suspects.take()).toBe(true);
  expect(suspects.take()).toBe(false);
  const turns: number[] = [];
  const waiting = [1, 2].map((n) => suspects.wait().then(() => turns.push(n)));
  await Promise.resolve();
  expect(turns).toEqual([]);

  suspects.free();
  await waiting[0];
  expect(turns).toEqual([1]);
  expect(suspects.take(), 'while the first of them has one').toBe(false);
  suspects.free();
  await waiting[1];
  suspects.free();

  expect(turns).toEqual([1, 2]);
  expect(suspects.take()).toBe(true);
});
