import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  acknowledged,
  closedWith,
  endOf,
  inFlight,
  message,
  outcome,
  outcomes,
  stage,
  withinMs,
} from './scripted-channel.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

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

test('a message at the size limit is not to blame', async () => {
  const one = stage();
  const sent = await inFlight(one, message('a', { payload: '1234' }), message('b', { payload: '12345' }));

  one.scripted.end(closedWith(406, 'message size 5 is larger than max size 4'));

  expect((await outcomes(sent)).map((told) => (told === 'open' ? told : told.kind))).toEqual([
    'hold',
    'permanent',
  ]);
});

test.each([
  ['the reason of the connection', new Error('read ECONNRESET'), 'read ECONNRESET'],
  ['no reason', undefined, 'The channel was closed.'],
])(
  'a channel that ends for %s holds the transport, and messages in flight may be stored',
  async (...given) => {
    const [, error, reason] = given;
    const { channel, model, scripted } = stage();
    const sent = channel.send(message('a'));

    scripted.end();
    if (error !== undefined) model.emit('error', error);
    // Of amqplib, which rejects what is unconfirmed when a channel closes.
    scripted.confirm([0], new Error('channel closed'));

    expect(await outcome(sent)).toEqual({ kind: 'hold', hold: { scope: 'transport', reason }, onWire: true });
    expect(await outcome(channel.send(message('b')))).toEqual({
      kind: 'hold',
      hold: { scope: 'transport', reason },
      onWire: false,
    });
  },
);

test('a message for a channel that has just closed is not sent', async () => {
  const { channel, scripted } = stage();
  scripted.broken = () => {
    scripted.end(closedWith(404, 'NOT_FOUND - no exchange'));
    return new Error('Channel closed');
  };

  expect(await outcome(channel.send(message('a')))).toEqual({
    kind: 'hold',
    hold: { scope: 'topic', reason: 'NOT_FOUND - no exchange' },
    onWire: false,
  });
});

test('a message without a confirmation in time holds the topic if the server otherwise answers', async () => {
  const one = stage();
  const sent = await inFlight(one, message('a'));

  await vi.advanceTimersByTimeAsync(withinMs - 1);
  const before = one.asked.channels;
  await vi.advanceTimersByTimeAsync(1);

  const reason =
    'The server gave no answer within 1000 ms. It answers otherwise: a queue of orders may have lost its majority.';
  expect(before).toBe(0);
  expect(one.asked.channels).toBe(1);
  expect(endOf(one.channel)).toEqual({ ended: true, refused: undefined, unconfirmed: reason });
  expect(one.scripted.closed).toBe(1);
  expect(await outcomes(sent)).toEqual([{ kind: 'hold', hold: { scope: 'topic', reason }, onWire: true }]);
});

test('an idle channel and one that has ended ask nothing', async () => {
  const one = stage();
  void (await inFlight(one));
  await vi.advanceTimersByTimeAsync(3 * withinMs);
  void one.channel.send(message('a'));
  one.scripted.end();
  await vi.advanceTimersByTimeAsync(3 * withinMs);

  expect(one.asked.channels).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
});
