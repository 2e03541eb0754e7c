import { expect, test } from 'vitest';
import { partOf, withItsWrites } from '../../../src/store/database/pending-writes.ts';

/** A write that ends when the test lets it. */
function write(tx: object): { readonly done: Promise<string>; readonly end: (error?: Error) => void } {
  let end: (error?: Error) => void = () => undefined;
  const promise = new Promise<string>((resolve, reject) => {
    end = (error) => (error === undefined ? resolve('written') : reject(error));
  });
  return { done: partOf(tx, () => promise), end: (error) => end(error) };
}

test('work ends when its writes have ended, also those that began in between', async () => {
  const tx = {};
  const first = write(tx);
  let second: ReturnType<typeof write> | undefined;
  let ended = false;
  const work = withItsWrites(tx, async () => 'worked').then((answer) => {
    ended = true;
    return answer;
  });
  const next = first.done.finally(() => {
    second = write(tx);
  });
  first.end();
  await next;
  await new Promise(setImmediate);
  expect(ended).toBe(false);
  second?.end();
  expect(await work).toBe('worked');
});

test('a write that fails after the work fails it, and another one that fails then does not end the process', async () => {
  const tx = {};
  const writes = [write(tx), write(tx)];
  const work = withItsWrites(tx, async () => 'worked');
  for (const [n, { end }] of writes.entries()) end(new Error(`refused ${n}`));
  await expect(work).rejects.toThrow('refused 0');
});

test('a write that was not awaited and failed before the end of the work fails it', async () => {
  const tx = {};
  const work = withItsWrites(tx, async () => {
    const { end } = write(tx);
    end(new Error('refused'));
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
    return 'worked';
  });
  await expect(work).rejects.toThrow('refused');
});

test('a write whose error was caught fails nothing', async () => {
  const tx = {};
  const answer = await withItsWrites(tx, async () => {
    const awaited = write(tx);
    awaited.end(new Error('refused'));
    const caught = await awaited.done.catch((error: unknown) => String(error));
    const also = write(tx);
    also.end(new Error('refused, too'));
    await Promise.allSettled([also.done]);
    return caught;
  });
  expect(answer).toBe('Error: refused');
});

test('failed work keeps its error and handles those of its writes', async () => {
  const tx = {};
  const open = write(tx);
  const work = withItsWrites(tx, async () => {
    throw new Error('the bank is closed');
  });
  open.end(new Error('the transaction has ended'));
  await expect(work).rejects.toThrow('the bank is closed');
});

test('transactions do not wait for each other', async () => {
  const open = write({});
  expect(await withItsWrites({}, async () => 'worked')).toBe('worked');
  open.end();
  expect(await open.done).toBe('written');
});
