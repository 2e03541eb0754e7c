import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ReceivedDelivery } from '../../../../src/brokers/rabbitmq/source/received-delivery.ts';
import { delivery } from './feed-stage.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('a delivery is read as it was sent, with strings of other senders', () => {
  const headers = {
    'outbox-key': 'k',
    text: 'a',
    bytes: Buffer.from('b'),
    number: 7,
    'content-type': 'of a header',
  };
  const one = new ReceivedDelivery(
    'orders',
    delivery('0199', 5, 3, { headers, timestamp: 7, contentType: 'text/plain' }),
    'channel',
  );

  expect(one).toMatchObject({ address: 'orders', partition: 0, offset: '0199', key: 'k', restsUntilMs: 0 });
  expect(Buffer.from(one.body ?? []).toString()).toBe('xxx');
  // Of a header that also has another form, its text counts.
  expect(one.bytes).toBe(
    ['xxx', 'outbox-keyk', 'texta', 'bytesb', 'number7', 'content-typetext/plain'].join('').length,
  );
  expect(one.headers).toEqual({ text: 'a', bytes: 'b', number: '7', 'content-type': 'text/plain' });
  expect(one.timestamp).toEqual(new Date(7_000));
  expect(['text', 'content-type', 'toString'].map((name) => one.header(name))).toEqual([
    'a',
    'text/plain',
    undefined,
  ]);
});

test.each(['', undefined])(
  'a delivery without properties (id %j) has its number as its offset, and the current time',
  (id) => {
    vi.setSystemTime(5);
    const one = new ReceivedDelivery('orders', delivery(id, 9, 1, { headers: undefined }), 'channel');

    expect(one).toMatchObject({ offset: 'channel.9', key: null, headers: {} });
    expect(one.timestamp).toEqual(new Date(5));
    const typed = new ReceivedDelivery(
      'orders',
      delivery(id, 9, 1, { headers: { 'content-type': 'x' } }),
      'c',
    );
    expect(typed.headers).toEqual({ 'content-type': 'x' });
  },
);
