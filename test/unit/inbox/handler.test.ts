import { expect, test } from 'vitest';
import { isThenable, watched } from '../../../src/inbox/handler.ts';

/** As Prisma's: it begins when somebody waits for it. */
function lazy(begin: () => void): PromiseLike<number> {
  return {
    // oxlint-disable-next-line unicorn/no-thenable -- that is what it is
    then: (resolve, reject) => {
      begin();
      return Promise.resolve(1).then(resolve, reject);
    },
  };
}

test('a handler that returns no promise is reported once, and its result is passed on', () => {
  const told: string[] = [];
  const called = watched(
    (tx: string) => (tx === 'a' ? undefined : tx),
    () => told.push('missing'),
  );

  expect([called('a'), called('b')]).toEqual([undefined, 'b']);
  expect(told).toEqual(['missing']);
});

test('a promise is examined without starting it, and passed on unchanged', async () => {
  let begun = 0;
  const promise = lazy(() => {
    begun += 1;
  });
  const told: string[] = [];

  const answer = watched(
    () => promise,
    () => told.push('missing'),
  )();

  expect(answer).toBe(promise);
  expect([begun, told]).toEqual([0, []]);
  expect(await promise).toBe(1);
  expect(begun).toBe(1);
});

test('a value with a method `then` is a promise', () => {
  expect([Promise.resolve(), lazy(() => undefined)].every(isThenable)).toBe(true);
  // oxlint-disable-next-line unicorn/no-thenable -- nothing to call
  expect([undefined, null, 1, 'then', {}, { then: 1 }, () => 1].some(isThenable)).toBe(false);
});
