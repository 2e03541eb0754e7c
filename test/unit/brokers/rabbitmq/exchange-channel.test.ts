import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { acknowledged, inFlight, message, outcome, outcomes, stage } from './scripted-channel.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test.each([null, undefined])(
  'a message is acknowledged when the server confirms it with %s',
  async (error) => {
    const { channel, scripted } = stage();

    const sent = channel.send(
      message('0199', {
        key: 'k',
        payload: 'é',
        headers: { ce_time: '2026-02-03T04:05:06.789Z', 'content-type': 'text/plain', a: 'b' },
      }),
    );
    scripted.confirm([0], error);

    expect(await outcome(sent)).toEqual(acknowledged);
    expect(scripted.published).toMatchObject([{ exchange: 'orders', key: 'to.k', body: 'é' }]);
    expect(scripted.published[0]?.properties).toEqual({
      mandatory: true,
      persistent: true,
      messageId: '0199',
      timestamp: Date.parse('2026-02-03T04:05:06Z') / 1_000,
      contentType: 'text/plain',
      headers: { ce_time: '2026-02-03T04:05:06.789Z', a: 'b', 'outbox-key': 'k' },
    });
  },
);

test.each([{}, { ce_time: 'today' }])(
  'without a key, a type or a time (%j) the properties have none, and the current time',
  async (headers) => {
    const { channel, scripted } = stage();
    vi.setSystemTime(7_999);

    void channel.send(message('1', { key: null, headers }));

    expect(scripted.published[0]?.properties).toEqual({
      mandatory: true,
      persistent: true,
      messageId: '1',
      timestamp: 7,
      headers,
    });
  },
);

test('the first message is sent alone, and after its outcome several are in flight', async () => {
  const { channel, scripted } = stage();

  const sent = [channel.send(message('a')), channel.send(message('b')), channel.send(message('c'))];
  await vi.advanceTimersByTimeAsync(0);
  const alone = scripted.published.length;
  scripted.confirm([0]);
  await vi.advanceTimersByTimeAsync(0);
  const together = [...sent, channel.send(message('d'))];

  expect(alone).toBe(1);
  expect(scripted.published.map(({ key }) => key)).toEqual(['to.a', 'to.b', 'to.c', 'to.d']);
  scripted.confirm([1, 2, 3]);
  expect(await outcomes(together)).toEqual([acknowledged, acknowledged, acknowledged, acknowledged]);
});

test('a nack is ambiguous for its message alone', async () => {
  const one = stage();
  const sent = await inFlight(one, message('a'), message('b'));

  one.scripted.confirm([1], new Error('message nacked'));
  one.scripted.confirm([2]);

  expect(await outcomes(sent)).toEqual([
    {
      kind: 'ambiguous',
      error: 'A queue of orders refused it (nack): it may be full. Other queues may have it.',
    },
    acknowledged,
  ]);
});

test('a message that the server returns is rejected, with its reason, when it is confirmed', async () => {
  const one = stage();
  const sent = await inFlight(one, message('a'), message('b'));

  one.scripted.emit('return', {
    fields: { replyCode: 312, replyText: 'NO_ROUTE', exchange: 'orders', routingKey: 'to.b' },
    properties: { messageId: 'b' },
  });
  one.scripted.confirm([1, 2]);

  expect(await outcomes(sent)).toEqual([
    acknowledged,
    { kind: 'rejected', error: '312 NO_ROUTE: the exchange orders has no queue for the routing key "to.b".' },
  ]);
});

test('a message above the known limit is not sent, one at the limit is', async () => {
  const { channel, scripted } = stage();
  channel.limit(4, () => undefined);

  const tooLarge = await outcome(channel.send(message('a', { payload: '12345' })));
  void channel.send(message('b', { payload: '1234' }));

  expect(tooLarge).toEqual({
    kind: 'permanent',
    error: 'The message has 5 bytes; the server takes 4 (max_message_size).',
  });
  expect(scripted.published.map(({ body }) => body)).toEqual(['1234']);
});

test('a routing key that throws rejects its message, and one that AMQP cannot carry fails its own', async () => {
  const { channel, scripted } = stage();

  const unroutable = await outcome(channel.send(message('unroutable')));
  scripted.broken = () => new Error('a key of 256 bytes');
  const unencodable = await outcome(channel.send(message('a')));

  expect(unroutable).toEqual({ kind: 'rejected', error: 'The routing key: no route' });
  expect(unencodable).toEqual({ kind: 'permanent', error: 'a key of 256 bytes' });
});

test('a blocked server holds the transport: messages in flight may be stored, the next one is not sent', async () => {
  const one = stage();
  const sent = await inFlight(one, message('a'), message('b'));
  one.model.emit('blocked', 'low on disk');

  one.channel.blocked('low on disk');
  const next = await outcome(one.channel.send(message('c')));

  const hold = { scope: 'transport', reason: 'The server blocks its publishers: low on disk.' };
  expect(await outcomes(sent)).toEqual([
    { kind: 'hold', hold, onWire: true },
    { kind: 'hold', hold, onWire: true },
  ]);
  expect(next).toEqual({ kind: 'hold', hold, onWire: false });
  expect(one.channel.ended).toBe(false);
});
