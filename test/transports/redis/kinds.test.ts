import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import type { Transport } from '../../../src/transports.ts';
import { redisList, redisPubSub, redisStream } from '../../../src/transports.ts';
import { redisAt } from '../../support/fixtures/own-redis.ts';
import { linesOf, shownLines, shownMessage } from '../../support/fixtures/wire-page.ts';
import { kindOf, messagesOf, publish } from './publishing.ts';
import { tooLarge, serverUrl as url } from './redis-subject.ts';

function ending<Made extends Transport>(transport: Made): Made {
  onTestFinished(() => transport.close());
  return transport;
}

test('a stream entry is what docs/other-languages.md shows, and its id is the returned offset', async () => {
  const client = await redisAt(url);
  const stream = ending(redisStream({ url }));
  const address = `orders-${randomUUID()}`;

  const { outcomes } = await publish(stream, address, [shownMessage, { ...shownMessage, key: null }]);

  const entries = (await client.xRange(address, '-', '+')) ?? [];
  const lines = entries.map(({ message }) => linesOf(Object.entries(message)));
  expect(lines).toEqual([
    shownLines('Redis streams'),
    shownLines('Redis streams').filter((line) => !line.startsWith('key:')),
  ]);
  expect(outcomes).toEqual(entries.map(({ id }) => ({ kind: 'acknowledged', partition: null, offset: id })));
});

test('a stream with maxLength keeps about that many of the newest entries, and one without keeps all', {
  tags: ['redis-keeps-what-it-acknowledged'],
}, async () => {
  const client = await redisAt(url);
  const bounded = ending(redisStream({ url, maxLength: 1_000 }));
  const unbounded = ending(redisStream({ url }));
  const [one, other] = [`bounded-${randomUUID()}`, `unbounded-${randomUUID()}`];
  const messages = messagesOf(['k'], 3_000);

  await kindOf(bounded, one, messages);
  await kindOf(unbounded, other, messages);

  expect(await client.xLen(other)).toBe(3_000);
  const kept = await client.xLen(one);
  expect(kept).toBeGreaterThanOrEqual(1_000);
  expect(kept).toBeLessThan(1_200);
  const [newest] = (await client.xRevRange(one, '+', '-', { COUNT: 1 })) ?? [];
  expect(newest?.message['id']).toBe(messages.at(-1)?.id);
});

test('a message without subscribers is acknowledged, or with requireReceivers rejected, and the rest of its key blocked', async () => {
  const channel = `channel-${randomUUID()}`;
  const messages = messagesOf(['a', 'b', null], 6);
  const easy = ending(redisPubSub({ url }));
  const strict = ending(redisPubSub({ url, requireReceivers: true }));
  expect(await kindOf(easy, channel, messages)).toBe('acknowledged');

  const { hold, outcomes } = await publish(strict, channel, messages);
  expect(hold).toBeUndefined();
  expect(outcomes.map(({ kind }) => kind)).toEqual([
    'rejected',
    'rejected',
    'rejected',
    'blocked',
    'blocked',
    'rejected',
  ]);
  expect(outcomes[0]).toEqual({ kind: 'rejected', error: 'Nobody has subscribed to the channel.' });

  const received: string[] = [];
  const subscriber = await redisAt(url);
  await subscriber.subscribe(channel, (text) => void received.push(text));
  expect(await kindOf(strict, channel, messages)).toBe('acknowledged');
  await subscriber.ping();
  expect(received).toHaveLength(6);
});

test('a subscriber of a channel never receives messages from before its subscription', {
  tags: ['redis-keeps-what-it-acknowledged'],
}, async () => {
  const channel = `channel-${randomUUID()}`;
  const pubSub = ending(redisPubSub({ url }));
  await kindOf(pubSub, channel, messagesOf([null], 5));
  const received: string[] = [];
  const subscriber = await redisAt(url);
  await subscriber.subscribe(channel, (text) => void received.push(text));
  await kindOf(pubSub, channel, messagesOf([null], 1));
  await subscriber.ping();

  expect(received).toHaveLength(1);
  expect('source' in pubSub).toBe(false);
});

test.each([
  ['redisStream', redisStream],
  ['redisList', redisList],
  ['redisPubSub', redisPubSub],
] as const)(
  '%s fails a message that is too large for the server, without sending it',
  async (_name, make) => {
    const transport = ending(make({ url }));
    const [message] = messagesOf(['k'], 1);
    if (message === undefined) throw new Error('There is one.');

    const { outcomes } = await publish(transport, `large-${randomUUID()}`, [
      { ...message, payload: tooLarge },
    ]);

    expect(outcomes).toEqual([
      {
        kind: 'permanent',
        error: expect.stringMatching(/has 1100\d{3} bytes, and proto-max-bulk-len .* 1048576/),
      },
    ]);
  },
);

test('the server is named with its version', async () => {
  expect(await ending(redisStream({ url })).server?.()).toMatch(/^Redis \d+\.\d+\.\d+$/);
});
