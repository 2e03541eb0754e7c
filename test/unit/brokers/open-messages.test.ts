import { expect, test } from 'vitest';
import { incomingMessage } from '../../../src/brokers/incoming-message.ts';
import { OpenMessages } from '../../../src/brokers/open-messages.ts';
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

function doneAfter(messages: readonly IncomingMessage[], ...places: readonly number[]): string | undefined {
  const open = new OpenMessages(messages);
  for (const place of places) {
    const message = messages[place];
    if (message !== undefined) open.acknowledge(message);
  }
  return open.lastDone()?.offset;
}

const gappy = messagesAt(5, 6, 9, 40, 41);

test.each<[places: number[], offset: string | undefined]>([
  [[], undefined],
  [[0, 1, 2, 3, 4], '41'],
  [[4, 3, 2, 1, 0], '41'],
  [[0, 1], '6'],
  [[0, 2, 3, 4], '5'],
  [[1, 2, 3, 4], undefined],
  [[3, 0, 2, 1], '40'],
  [[0, 0, 0], '5'],
])('after acknowledgements of %j everything up to offset %s is done', (places, offset) => {
  expect(doneAfter(gappy, ...places)).toBe(offset);
});

test('a rejected message and all later ones stay open, even if they are acknowledged before or after', () => {
  const open = new OpenMessages(gappy);
  const [first, second, third, fourth, last] = gappy as [
    IncomingMessage,
    IncomingMessage,
    IncomingMessage,
    IncomingMessage,
    IncomingMessage,
  ];
  for (const message of [first, second, last]) open.acknowledge(message);
  open.reject(fourth);
  open.reject(third);
  for (const message of [third, fourth]) open.acknowledge(message);
  expect(open.lastDone()?.offset).toBe('6');
});

test('a copy of a message counts as that message, one of another partition does not', () => {
  const open = new OpenMessages(gappy);
  for (const message of gappy.slice(0, 2)) open.acknowledge({ ...message });
  expect(open.lastDone()?.offset).toBe('6');
  for (const message of gappy) open.acknowledge({ ...message, partition: 3 });
  for (const message of gappy) open.acknowledge({ ...message, address: 'others' });
  for (const message of messagesAt(7, 8)) open.acknowledge(message);
  expect(open.lastDone()?.offset).toBe('6');
});

test('any order of acknowledgements ends with everything done, and never with a message that is open', () => {
  const messages = messagesAt(...Array.from({ length: 60 }, (_, place) => place * 3));
  const order = messages.map((_, place) => (place * 23) % 60);
  const acknowledged = new Set<number>();
  const open = new OpenMessages(messages);
  for (const place of order) {
    const message = messages[place];
    if (message !== undefined) open.acknowledge(message);
    acknowledged.add(place);
    const firstOpen = messages.findIndex((_, at) => !acknowledged.has(at));
    const expected = firstOpen === -1 ? 59 : firstOpen - 1;
    expect(open.lastDone()?.offset).toBe(messages[expected]?.offset);
  }
});

test('the next offer moves on once the first message is done, unless it was rejected', () => {
  const [first, second] = gappy as [IncomingMessage, IncomingMessage];
  const open = new OpenMessages(gappy);
  open.acknowledge(second);
  expect(open.moved).toBe(false);
  open.acknowledge(first);
  expect(open.moved).toBe(true);
  open.reject(first);
  expect(open.moved).toBe(false);
  expect(new OpenMessages([]).moved).toBe(false);
});
