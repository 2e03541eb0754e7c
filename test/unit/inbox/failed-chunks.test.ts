import { expect, test } from 'vitest';
import { FailedChunks } from '../../../src/inbox/intake/failed-chunks.ts';

const of = (partition: number, address = 'orders') => ({ address, partition });
const failedAt = (offsets: readonly string[], partition = 0): FailedChunks => {
  const chunks = new FailedChunks();
  chunks.failed(of(partition), offsets);
  return chunks;
};

test.each<[offered: string[], leading: number]>([
  [['7', '8', '9', '10', '11'], 4],
  [['7', '8'], 2],
  [['8', '12'], 1],
  [['11', '12'], 0],
  [[], 0],
])('of %j those up to the last of a failed transaction of 7 to 10 are applied singly', (offered, leading) => {
  expect(failedAt(['7', '8', '9', '10']).leading(of(0), () => offered)).toBe(leading);
});

test('an offset may be any string', () => {
  const chunks = failedAt(['1526919030474-55', '1526919030474-56']);
  expect(chunks.leading(of(0), () => ['1526919030474-56', '1526919030475-0'])).toBe(1);
});

test('a failed transaction is remembered until its partition is past it', () => {
  const chunks = failedAt(['9', '10']);
  expect(chunks.leading(of(0), () => ['9', '10'])).toBe(2);
  expect(chunks.leading(of(0), () => ['10', '11'])).toBe(1);
  expect(chunks.leading(of(0), () => ['11'])).toBe(0);
  expect(chunks.leading(of(0), () => ['10'])).toBe(0);
});

test('each partition has its own, and those of partitions that moved away are forgotten', () => {
  const chunks = failedAt(['10'], 0);
  chunks.failed(of(1), ['20']);
  expect(chunks.leading(of(0, 'others'), () => ['10'])).toBe(0);
  chunks.keepOnly([of(1)]);
  expect(chunks.leading(of(0), () => ['10'])).toBe(0);
  expect(chunks.leading(of(1), () => ['20', '21'])).toBe(1);
});
