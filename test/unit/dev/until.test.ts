import { expect, test } from 'vitest';
import { until } from '../../../dev/demo/until.ts';

const { signal } = new AbortController();

test('waiting ends with the first answer, and failed looks count as not yet', async () => {
  let looks = 0;
  const look = (): string | undefined => {
    looks += 1;
    if (looks === 1) throw new Error('down');
    return looks < 3 ? undefined : 'there';
  };
  expect(await until('it is there', look, { withinMs: 10_000, signal })).toBe('there');
});

test('waiting in vain fails with what was expected and what prevented it', async () => {
  const look = (): never => {
    throw new Error('connection refused');
  };
  await expect(until('Kafka answers', look, { withinMs: 50, signal })).rejects.toThrow(
    'Expected within 0.05 s, but it did not come true: Kafka answers. The last look failed: connection refused',
  );
});

test('waiting ends at once when aborted', async () => {
  const stop = new AbortController();
  const waiting = until('never', () => false, { withinMs: 60_000, signal: stop.signal });
  stop.abort(new Error('Ctrl-C'));
  await expect(waiting).rejects.toThrow('Ctrl-C');
});
