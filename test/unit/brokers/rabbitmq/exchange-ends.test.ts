import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
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

test.each([
  [404, 'NOT_FOUND - no exchange', undefined],
  [403, 'ACCESS_REFUSED - to exchange', 'ACCESS_REFUSED - to exchange'],
])(
  '%i holds the exchange, and a message that was sent alone is not stored',
  async (code, reason, refused) => {
    const { channel, scripted } = stage();
    const sent = channel.send(message('a'));

    scripted.emit('error', closedWith(code, reason));
    scripted.end(closedWith(404, 'NOT_FOUND - another'));
    const next = channel.send(message('b'));

    const onHold = { kind: 'hold', hold: { scope: 'topic', reason }, onWire: false };
    expect(await outcomes([sent, next])).toEqual([onHold, onHold]);
    expect(scripted.published).toHaveLength(1);
    expect(endOf(channel)).toEqual({ ended: true, refused, unconfirmed: undefined });
  },
);

test('403 for a routing key rejects its message alone and does not refuse the exchange', async () => {
  const one = stage();
  const sent = await inFlight(one, message('a'), message('b'), message('c'));
  const reason = "ACCESS_REFUSED - access to topic 'to.b' in exchange 'orders' refused";

  one.scripted.end(closedWith(403, reason));

  const hold = { scope: 'topic', reason };
  expect(await outcomes(sent)).toEqual([
    { kind: 'hold', hold, onWire: true },
    { kind: 'rejected', error: reason },
    { kind: 'hold', hold, onWire: false },
  ]);
  expect(one.channel.refused).toBeUndefined();
});

test('of several messages the first that is too large fails: earlier ones may be stored, later ones are not', async () => {
  const one = stage();
  const limits: number[] = [];
  one.channel.limit(Infinity, (bytes) => void limits.push(bytes));
  const sizes = [3, 5, 6, 2];
  const sent = await inFlight(one, ...sizes.map((size) => message(`${size}`, { payload: 'x'.repeat(size) })));
  const reason = 'PRECONDITION_FAILED - message size 5 is larger than configured max size 4';

  one.scripted.end(closedWith(406, reason));

  const hold = { scope: 'topic', reason };
  expect(await outcomes(sent)).toEqual([
    { kind: 'hold', hold, onWire: true },
    { kind: 'permanent', error: reason },
    { kind: 'hold', hold, onWire: false },
    { kind: 'hold', hold, onWire: false },
  ]);
  expect(limits).toEqual([4]);
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

test('if the server does not answer at all, the end of the connection settles the messages in flight', async () => {
  const one = stage();
  one.asked.fail = true;
  const sent = await inFlight(one, message('a'));

  await vi.advanceTimersByTimeAsync(3 * withinMs);

  expect(one.asked.channels).toBe(1);
  expect(endOf(one.channel)).toEqual({ ended: false, refused: undefined, unconfirmed: undefined });
  one.model.emit('error', new Error('read ECONNRESET'));
  one.scripted.end();
  expect(await outcomes(sent)).toMatchObject([
    { hold: { scope: 'transport', reason: 'read ECONNRESET' }, onWire: true },
  ]);
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
