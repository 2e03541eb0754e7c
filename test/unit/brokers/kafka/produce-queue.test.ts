import { expect, test } from 'vitest';
import { ProduceQueue } from '../../../../src/brokers/kafka/transport/produce-queue.ts';
import type { ProduceAnswer, ProduceBatch } from '../../../../src/brokers/kafka/transport/produce-request.ts';

/** A broker that answers when the test lets it. */
function broker() {
  const requests: {
    readonly batches: readonly ProduceBatch[];
    answer: () => void;
    fail: (error: Error) => void;
  }[] = [];
  const queue = new ProduceQueue(
    (batches) =>
      new Promise<readonly ProduceAnswer[]>((resolve, reject) => {
        const answer = (): void =>
          resolve(
            batches.map(({ address, partition }) => ({
              address,
              partition,
              code: 0,
              baseOffset: 7n,
              message: null,
            })),
          );
        requests.push({ batches, answer, fail: reject });
      }),
  );
  const add = (partition: number, { address = 'orders', bytes = 10 } = {}): Promise<ProduceAnswer> =>
    queue.add({ address, partition, records: Buffer.alloc(bytes, partition), timeoutMs: 1 });
  const sent = (): string[][] =>
    requests.map(({ batches }) => batches.map(({ address, partition }) => `${address} ${partition}`));
  return { add, queue, requests, sent };
}

const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('concurrent small batches share one request, and each gets its own answer', async () => {
  const { add, requests, sent } = broker();
  const answers = Promise.all([add(0), add(1), add(0, { address: 'bills' })]);
  await soon();
  expect(sent()).toEqual([['orders 0', 'orders 1', 'bills 0']]);
  requests[0]?.answer();
  expect((await answers).map(({ address, partition }) => [address, partition])).toEqual([
    ['orders', 0],
    ['orders', 1],
    ['bills', 0],
  ]);
});

test('no request has two batches of one partition, and these are sent in order', async () => {
  const { add, queue, requests, sent } = broker();
  const first = queue.add({ address: 'orders', partition: 0, records: Buffer.from('a'), timeoutMs: 1 });
  const second = queue.add({ address: 'orders', partition: 0, records: Buffer.from('b'), timeoutMs: 1 });
  const other = add(1);
  await soon();
  expect(sent()).toEqual([['orders 0', 'orders 1'], ['orders 0']]);
  expect(requests.map(({ batches }) => batches[0]?.records.toString())).toEqual(['a', 'b']);
  for (const { answer } of requests) answer();
  await Promise.all([first, second, other]);
});

test('two requests are in flight, and batches that arrive in between share the next one', async () => {
  const { add, requests, sent } = broker();
  void add(0);
  await soon();
  void add(1);
  await soon();
  const later = [add(2), add(3)];
  await soon();
  expect(sent()).toEqual([['orders 0'], ['orders 1']]);
  requests[0]?.answer();
  await soon();
  expect(sent().slice(2)).toEqual([['orders 2', 'orders 3']]);
  requests[2]?.answer();
  await Promise.all(later);
});

test('a large batch is sent at once and by itself, without being copied', async () => {
  const { add, queue, requests, sent } = broker();
  void add(0);
  const records = Buffer.alloc(64 * 1024);
  void queue.add({ address: 'orders', partition: 1, records, timeoutMs: 1 });
  expect(sent()).toEqual([['orders 1']]);
  expect(requests[0]?.batches[0]?.records).toBe(records);
  await soon();
  expect(sent()).toEqual([['orders 1'], ['orders 0']]);
});

test('small batches fill a request up to the size of a large one', async () => {
  const { add, sent } = broker();
  for (const partition of [0, 1, 2]) void add(partition, { bytes: 30 * 1024 });
  await soon();
  expect(sent()).toEqual([['orders 0', 'orders 1'], ['orders 2']]);
});

test('the memory of a small batch may be reused at once', async () => {
  const { queue, requests } = broker();
  const records = Buffer.from('mine');
  void queue.add({ address: 'orders', partition: 0, records, timeoutMs: 1 });
  records.fill('x');
  await soon();
  expect(requests[0]?.batches[0]?.records.toString()).toBe('mine');
});

test('a failed request fails all of its batches, and the next request is sent', async () => {
  const { add, requests, sent } = broker();
  const failed = [add(0), add(1)];
  await soon();
  requests[0]?.fail(new Error('cut'));
  for (const one of failed) await expect(one).rejects.toThrow('cut');
  const next = add(2);
  await soon();
  expect(sent()[1]).toEqual(['orders 2']);
  requests[1]?.answer();
  expect((await next).baseOffset).toBe(7n);
});
