import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Receipt, receiptIdLimit } from '../../../src/core/receipt.ts';
import type { ConsumerEvent } from '../../../src/inbox/consumer-event.ts';
import { Receipts } from '../../../src/inbox/handling/receipts.ts';
import { gate } from '../../support/fixtures/gate.ts';

let sent: Receipt[];
let events: ConsumerEvent[];
let broken: boolean;
/** Resolves when the broker answers. */
let stored: Promise<void> | undefined;
let receipts: Receipts;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  sent = [];
  events = [];
  broken = false;
  stored = undefined;
  receipts = new Receipts({
    group: 'shop',
    sender: {
      send: async (some) => {
        await stored;
        if (broken) throw new Error('the broker is away');
        sent.push(...some);
      },
      close: async () => undefined,
    },
    report: (event) => events.push(event),
  });
});
afterEach(() => vi.useRealTimers());

const add = (...ids: readonly string[]): void => {
  for (const id of ids) receipts.add({ id, installation: 'i', state: 'processed' });
};

test('one batch is one receipt per installation and state', async () => {
  add('a', 'b');
  receipts.add({ id: 'c', installation: undefined, state: 'processed' });
  receipts.add({ id: 'd', installation: 'i', state: 'parked' });

  await receipts.flush();
  await receipts.flush();

  expect(sent).toEqual([
    { group: 'shop', installation: 'i', state: 'processed', ids: ['a', 'b'] },
    { group: 'shop', installation: undefined, state: 'processed', ids: ['c'] },
    { group: 'shop', installation: 'i', state: 'parked', ids: ['d'] },
  ]);
});

test('many ids are sent in several receipts, none larger than a reader accepts', async () => {
  add(...Array.from({ length: receiptIdLimit + 1 }, (_, n) => `id-${n}`));

  await receipts.flush();

  expect(sent.map(({ ids }) => ids.length)).toEqual([receiptIdLimit, 1]);
});

test('a receipt that cannot be sent fails no message, is reported, and is sent with a later one', async () => {
  broken = true;
  add('a');
  await receipts.flush();
  expect(events).toMatchObject([{ type: 'receipts-unsent', waiting: 1, dropped: 0, retryInMs: 1_000 }]);

  broken = false;
  add('b');
  await receipts.flush();
  expect(sent).toEqual([]);
  vi.advanceTimersByTime(1_000);
  await receipts.flush();

  expect(sent).toMatchObject([{ ids: ['a', 'b'] }]);
});

test('pending receipts are sent by a timer when no further batch arrives, with pauses that grow to half a minute', async () => {
  broken = true;
  add('a');
  await receipts.flush();
  await vi.advanceTimersByTimeAsync(100_000);
  const pauses = events.flatMap((event) => (event.type === 'receipts-unsent' ? [event.retryInMs] : []));
  expect(pauses.slice(0, 7)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);

  broken = false;
  await vi.advanceTimersByTimeAsync(31_000);

  expect(sent).toMatchObject([{ ids: ['a'] }]);
  expect(receipts.waiting).toBe(0);
});

test('memory is bounded: beyond 10,000 the oldest receipts are dropped and reported', async () => {
  broken = true;
  add(...Array.from({ length: 10_005 }, (_, n) => `id-${n}`));

  await receipts.flush();

  expect(receipts.waiting).toBe(10_000);
  expect(events).toMatchObject([{ waiting: 10_000, dropped: 5 }]);
});

test('memory is bounded also while no receipt is tried', async () => {
  broken = true;
  add('first');
  await receipts.flush();

  add(...Array.from({ length: 25_000 }, (_, n) => `id-${n}`));

  expect(receipts.waiting).toBeLessThanOrEqual(10_000);
});

test('a close tries a last time, also during a pause', async () => {
  broken = true;
  add('a');
  await receipts.flush();
  broken = false;

  await receipts.close();

  expect(sent).toMatchObject([{ ids: ['a'] }]);
});

test('a flush ends when the broker has stored its receipts, and a concurrent one then sends its own', async () => {
  const { open, opened } = gate();
  stored = opened;
  add('a');
  const ended: string[] = [];
  const first = receipts.flush().then(() => ended.push('first'));
  add('b');
  const second = receipts.flush().then(() => ended.push('second'));
  const closed = receipts.close().then(() => ended.push('close'));
  await turn();
  expect([sent, ended]).toEqual([[], []]);
  open();
  await Promise.all([first, second, closed]);

  expect(sent.map(({ ids }) => ids)).toEqual([['a'], ['b']]);
  expect(ended[0]).toBe('first');
});
