import { expect, test } from 'vitest';
import { incomingMessage } from '../../../src/brokers/incoming-message.ts';
import { type BatchOffer, OfferedBatch } from '../../../src/brokers/offered-batch.ts';
import type { IncomingMessage } from '../../../src/brokers/source.ts';

/** Messages at these offsets: a log has gaps. */
function messagesAt(...offsets: readonly number[]): IncomingMessage[] {
  return offsets.map((offset) =>
    incomingMessage({
      address: 'orders',
      partition: 2,
      offset: String(offset),
      key: null,
      body: null,
      headers: {},
      timestamp: new Date(0),
    }),
  );
}

function offer(
  messages: readonly IncomingMessage[],
  rest: Partial<BatchOffer<IncomingMessage>> = {},
): OfferedBatch {
  const { signal } = new AbortController();
  return new OfferedBatch({ address: 'orders', partition: 2, messages, signal, lost: signal, ...rest });
}

function doneAfter(messages: readonly IncomingMessage[], ...indexes: readonly number[]): string | undefined {
  const open = offer(messages);
  for (const index of indexes) {
    const message = messages[index];
    if (message !== undefined) open.acknowledge(message);
  }
  return open.done().at(-1)?.offset;
}

const gappy = messagesAt(5, 6, 9, 40, 41);

test.each<[indexes: number[], offset: string | undefined]>([
  [[], undefined],
  [[0, 1, 2, 3, 4], '41'],
  [[4, 3, 2, 1, 0], '41'],
  [[0, 1], '6'],
  [[0, 2, 3, 4], '5'],
  [[1, 2, 3, 4], undefined],
  [[3, 0, 2, 1], '40'],
  [[0, 0, 0], '5'],
])('after acknowledgements of %j everything up to offset %s is done', (indexes, offset) => {
  expect(doneAfter(gappy, ...indexes)).toBe(offset);
});

test('a rejected message and all later ones stay open, even if they are acknowledged before or after', () => {
  const open = offer(gappy);
  const [first, second, third, fourth, last] = gappy as [
    IncomingMessage,
    IncomingMessage,
    IncomingMessage,
    IncomingMessage,
    IncomingMessage,
  ];
  for (const message of [first, second, last]) open.acknowledge(message);
  open.reject(fourth, 0);
  open.reject(third, 0);
  for (const message of [third, fourth]) open.acknowledge(message);
  expect(open.done().at(-1)?.offset).toBe('6');
});

test('a copy of a message counts as that message, one of another partition does not', () => {
  const open = offer(gappy);
  for (const message of gappy.slice(0, 2)) open.acknowledge({ ...message });
  expect(open.done().at(-1)?.offset).toBe('6');
  for (const message of gappy) open.acknowledge({ ...message, partition: 3 });
  for (const message of gappy) open.acknowledge({ ...message, address: 'others' });
  for (const message of messagesAt(7, 8)) open.acknowledge(message);
  expect(open.done().at(-1)?.offset).toBe('6');
});

test('any order of acknowledgements ends with everything done, and never with an open message', () => {
  const messages = messagesAt(...Array.from({ length: 60 }, (_, index) => index * 3));
  const order = messages.map((_, index) => (index * 23) % 60);
  const acknowledged = new Set<number>();
  const open = offer(messages);
  for (const index of order) {
    const message = messages[index];
    if (message !== undefined) open.acknowledge(message);
    acknowledged.add(index);
    const firstOpen = messages.findIndex((_, at) => !acknowledged.has(at));
    const expected = firstOpen === -1 ? 59 : firstOpen - 1;
    expect(open.done().at(-1)?.offset).toBe(messages[expected]?.offset);
  }
});

test('the next offer moves on once the first message is done, unless it was rejected', () => {
  const [first, second] = gappy as [IncomingMessage, IncomingMessage];
  const open = offer(gappy);
  open.acknowledge(second);
  expect(open.moved).toBe(false);
  open.acknowledge(first);
  expect(open.moved).toBe(true);
  open.reject(first, 0);
  expect(open.moved).toBe(false);
  expect(offer([]).moved).toBe(false);
});

test('without order each message that was acknowledged and not rejected is done', () => {
  const [first, second, third] = gappy as [IncomingMessage, IncomingMessage, IncomingMessage];
  const batch = offer(gappy, { ordered: false });
  batch.reject(second, 20);
  for (const message of [third, second, first]) batch.acknowledge(message);
  expect(batch.done().map(({ offset }) => offset)).toEqual(['5', '9']);
  expect(batch.mayBegin()).toBe(true);
});

test('two messages with one offset are two messages', () => {
  const twins = messagesAt(7, 7, 8);
  const [first, second] = twins as [IncomingMessage, IncomingMessage];
  const batch = offer(twins, { ordered: false });
  batch.acknowledge(second);
  batch.reject(first, 20);
  expect(batch.done()).toEqual([second]);
  expect(batch.restOf(first)).toBe(20);
});

test('nothing begins behind a rejected message, at the end of the batch, or when its source stops it', () => {
  const [first] = gappy as [IncomingMessage];
  const giveUp = new AbortController();
  let open = true;
  const batch = offer(gappy, { signal: giveUp.signal, mayGoOn: () => open });
  expect(batch.mayBegin()).toBe(true);
  open = false;
  expect(batch.mayBegin()).toBe(false);
  open = true;
  giveUp.abort();
  expect(batch.mayBegin()).toBe(false);
  const rejecting = offer(gappy);
  rejecting.reject(first, 10);
  expect(rejecting.mayBegin()).toBe(false);
});

test('a message that is rejected twice rests for the longer time, and a batch for the longest', () => {
  const [first, second] = gappy as [IncomingMessage, IncomingMessage];
  const batch = offer(gappy);
  expect(batch.restMs).toBeUndefined();
  batch.reject(second, 30);
  batch.reject(second, 10);
  batch.reject(first, 20);
  expect([batch.restOf(first), batch.restOf(second), batch.restMs]).toEqual([20, 30, 30]);
});
