import { expect, test } from 'vitest';
import { late, orLate } from '../../../src/core/or-late.ts';
import { byNow, fakeTimeUntilEnd, pass, soFar } from '../../support/fixtures/fake-time.ts';

test('an answer or failure in time is the result', async () => {
  await expect(orLate(Promise.resolve('yes'), 10)).resolves.toBe('yes');
  await expect(orLate(Promise.reject(new Error('no')), 10)).rejects.toThrow('no');
});

test('without an answer in time the result is late, and not before', async () => {
  fakeTimeUntilEnd();
  const asked = orLate(new Promise<void>(() => undefined), 10);
  const told = soFar(asked);
  await pass(9);
  expect(told.state).toBe('open');
  await pass(1);
  expect(await byNow(asked)).toBe(late);
});

test('an answer that is not yet read at the time limit counts as in time', async () => {
  const answer = new Promise<string>((resolve) => setImmediate(() => resolve('read late')));
  const asked = orLate(answer, 1);
  const busyUntil = performance.now() + 20;
  while (performance.now() < busyUntil);
  await expect(asked).resolves.toBe('read late');
});
