import { expect, test } from 'vitest';
import { givenUp } from '../../../../src/brokers/given-up.ts';
import type { RedisClient } from '../../../../src/brokers/redis/client/open-client.ts';
import type { RedisLink } from '../../../../src/brokers/redis/client/redis-link.ts';
import { redisClient } from '../../../../src/brokers/redis/client/redis-package.ts';
import {
  type ChunkAnswer,
  type ChunkSender,
  publishChunks,
} from '../../../../src/brokers/redis/transport/publish-chunks.ts';
import { withReplicas } from '../../../../src/brokers/redis/transport/with-replicas.ts';
import type { OutgoingMessage, PublishResult } from '../../../../src/brokers/transport.ts';

const stored = { kind: 'acknowledged', partition: null, offset: null } as const;
const unsent = { kind: 'deferred', onWire: false } as const;
const maybeStored = { kind: 'deferred', onWire: true } as const;
const blocked = { kind: 'blocked' } as const;

/** What a server answers to a chunk: outcomes, or an error. */
type Answer = (ids: readonly string[]) => ChunkAnswer | Error;

const takes: Answer = (ids) => ({ outcomes: ids.map(() => stored) });
const refuses =
  (message: string): Answer =>
  () =>
    new (redisClient().ErrorReply)(message);

interface Script {
  readonly answers?: readonly Answer[];
  /** `proto-max-bulk-len`; an error refuses it. */
  readonly limit?: string | Error;
  /** Called before each answer. */
  readonly during?: (link: { closings: number }, abort: AbortController) => void;
}

/** Publishes to a server that takes everything after the scripted answers; each chunk is recorded by its ids. */
async function published(messages: readonly OutgoingMessage[], { answers = [], during, limit }: Script = {}) {
  const chunks: (readonly string[])[] = [];
  const waits: number[] = [];
  const abort = new AbortController();
  let asked = 0;
  const client = {
    async configGet(name: string) {
      asked += 1;
      if (limit instanceof Error) throw limit;
      return limit === undefined || name !== 'proto-max-bulk-len' ? {} : { [name]: limit };
    },
  } as unknown as RedisClient;
  const link = {
    closings: 0,
    renewals: 0,
    async ask<T>(question: (given: RedisClient) => Promise<T>, extraMs: number): Promise<T> {
      waits.push(extraMs);
      return question(client);
    },
    renew() {
      this.renewals += 1;
    },
  };
  const sender: ChunkSender = {
    bytes: ({ payload }) => 10 * payload.length,
    extraMs: 7,
    async send(_client, address, sent) {
      expect(address).toBe('orders');
      const ids = sent.map(({ id }) => id);
      // A batch that does not end by itself.
      if (chunks.length > 10) abort.abort();
      const answer = (answers[chunks.push(ids) - 1] ?? takes)(ids);
      during?.(link, abort);
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
  const result = await publishChunks(link as unknown as RedisLink, sender, {
    address: 'orders',
    partitions: 1,
    messages,
    signal: abort.signal,
  });
  return { ...result, chunks, waits, renewals: link.renewals, asked };
}

const message = (id: string, key: string | null = null, length = 1): OutgoingMessage => ({
  id,
  key,
  payload: 'x'.repeat(length),
  headers: {},
});
const several = (count: number, length?: number): readonly OutgoingMessage[] =>
  Array.from({ length: count }, (_, n) => message(`${n}`, null, length));
const sizesOf = ({ chunks }: { readonly chunks: readonly (readonly string[])[] }): readonly number[] =>
  chunks.map(({ length }) => length);

test('messages are sent in order, at most 500 per chunk, and each chunk is given the extra time', async () => {
  const done = await published(several(1_001));

  expect(sizesOf(done)).toEqual([500, 500, 1]);
  expect(done.chunks.flat()).toEqual(several(1_001).map(({ id }) => id));
  expect(done.outcomes).toEqual(several(1_001).map(() => stored));
  expect(done).toMatchObject({ renewals: 0, waits: [7, 7, 7], asked: 0 });
  expect(done.hold).toBeUndefined();
});

test('a chunk has at most 1,000,000 characters of payload', async () => {
  expect(sizesOf(await published(several(21, 100_000)))).toEqual([10, 10, 1]);
  expect(sizesOf(await published([...several(9, 100_000), message('a', null, 100_001)]))).toEqual([9, 1]);
});

test('a long payload is sent alone, one at the limit is not', async () => {
  const at = (length: number) => published([message('a'), message('b', null, length), message('c')]);

  expect(sizesOf(await at(150_000))).toEqual([3]);
  expect(sizesOf(await at(150_001))).toEqual([1, 1, 1]);
});

test.each([
  ['is larger than the limit of the server', '1500009', 1],
  ['reaches the limit of the server', '1500010', 2],
  ['is below the usual limit, and the server has none', undefined, 2],
  ['is below the usual limit, and this user may not ask', new (redisClient().ErrorReply)('NOPERM'), 2],
])('a message that %s', async (_what, limit, chunks) => {
  const large = message('large', 'k', 150_001);

  const done = await published([large, message('after', 'k')], limit === undefined ? {} : { limit });

  const error = `The message has 1500010 bytes, and proto-max-bulk-len of the server is 1500009.`;
  expect(done.asked).toBe(1);
  expect(done.chunks).toEqual(chunks === 1 ? [] : [['large'], ['after']]);
  expect(done.outcomes).toEqual(chunks === 1 ? [{ kind: 'permanent', error }, blocked] : [stored, stored]);
});

test('after a connection lost while the limit is read, the message counts as possibly stored', async () => {
  const done = await published([message('a', null, 150_001)], { limit: new Error('Socket closed') });

  expect(done.outcomes).toEqual([maybeStored]);
  expect(done.hold).toEqual({ scope: 'transport', reason: 'Socket closed' });
});

test('a server may refuse a message after those that it accepted: it holds the topic, and the rest is not sent', async () => {
  const done = await published([message('a'), message('b'), message('c')], {
    answers: [() => ({ outcomes: [stored], refusal: 'WRONGTYPE of a key' })],
  });

  expect(done.outcomes).toEqual([stored, unsent, unsent]);
  expect(done).toMatchObject({ hold: { scope: 'topic', reason: 'WRONGTYPE of a key' }, renewals: 0 });
  expect(done.chunks).toHaveLength(1);
});

test('a message that is refused alone blocks its key, and the others are sent in the next chunk', async () => {
  const refusal = 'ERR string exceeds maximum allowed size';
  const done = await published(
    [message('a', 'one'), message('b', 'two'), message('c', 'two'), message('d', 'one'), message('e')],
    { answers: [() => ({ outcomes: [stored], refusal })] },
  );

  expect(done.chunks).toEqual([
    ['a', 'b', 'c', 'd', 'e'],
    ['d', 'e'],
  ]);
  expect(done.outcomes).toEqual([
    stored,
    { kind: 'permanent', error: 'ERR string exceeds maximum allowed size' },
    blocked,
    stored,
    stored,
  ]);
  expect(done.hold).toBeUndefined();
});

test('outcomes of a chunk other than acknowledgements block their keys', async () => {
  const rejected = { kind: 'rejected', error: 'Nobody.' } as const;
  const done = await published([message('a', 'k'), ...several(499), message('b', 'k'), message('c')], {
    answers: [(ids) => ({ outcomes: [rejected, ...ids.slice(1).map(() => stored)] })],
  });

  expect(done.chunks[1]).toEqual(['c']);
  expect([done.outcomes[0], ...done.outcomes.slice(-2)]).toEqual([rejected, blocked, stored]);
});

test('an unclear reply to a chunk makes each message ambiguous, once for each key, and the next chunk is sent', async () => {
  const unclear = { kind: 'ambiguous', error: 'ERR of a proxy' };
  const done = await published(
    [
      message('a', 'k'),
      message('b', 'k'),
      message('c'),
      message('d'),
      message('long', null, 150_001),
      message('e', 'k', 150_001),
    ],
    { answers: [refuses('ERR of a proxy')] },
  );

  expect(done.outcomes).toEqual([
    unclear,
    { kind: 'blocked', onWire: true },
    unclear,
    unclear,
    stored,
    blocked,
  ]);
  expect(done.hold).toBeUndefined();
});

test('after a lost connection the chunk may be stored, and the rest is not sent', async () => {
  const done = await published(several(501), { answers: [() => new Error('Socket closed')] });

  expect(done.outcomes).toEqual([...several(500).map(() => maybeStored), unsent]);
  expect(done).toMatchObject({ hold: { scope: 'transport', reason: 'Socket closed' }, renewals: 1 });
});

test.each<[string, Script['during']]>([
  ['is given up', (_link, abort) => abort.abort()],
  ['has its transport closed', (link) => void (link.closings += 1)],
])('a batch that %s sends no further chunk', async (_what, during) => {
  const done = await published(several(501), during === undefined ? {} : { during });

  expect(done.outcomes).toEqual([...several(500).map(() => stored), unsent]);
  expect(done.chunks).toHaveLength(1);
  expect(done.hold).toEqual(givenUp);
});

const rejected = { kind: 'rejected', error: 'Nobody.' } as const;
const sent: ChunkAnswer = { outcomes: [stored, rejected, stored], refusal: 'OOM' };

test.each<[string, number | Error, PublishResult['outcomes']]>([
  ['enough replicas', 2, [stored, rejected, stored]],
  ['more than enough', 3, [stored, rejected, stored]],
  ['too few', 1, ambiguous('Stored, but 1 of 2 replicas had it after 50 ms.')],
  [
    'a server that does not wait',
    new Error('NOPERM'),
    ambiguous('Stored, but 0 of 2 replicas had it after 50 ms: Error: NOPERM.'),
  ],
])('outcomes of messages stored with %s', async (_what, reached, outcomes) => {
  const asked: unknown[] = [];
  const client = {
    async wait(...given: readonly number[]) {
      asked.push(given);
      if (reached instanceof Error) throw reached;
      return reached;
    },
  } as unknown as RedisClient;

  const answer = await withReplicas(client, { count: 2, timeoutMs: 50 }, async () => sent);

  expect(answer).toEqual({ outcomes, refusal: 'OOM' });
  expect(asked).toEqual([[2, 50]]);
  expect(await withReplicas(client, undefined, async () => sent)).toBe(sent);
  expect(asked).toHaveLength(1);
  const lost = withReplicas(client, { count: 2, timeoutMs: 50 }, () => Promise.reject(new Error('lost')));
  await expect(lost).rejects.toThrow('lost');
});

function ambiguous(error: string): PublishResult['outcomes'] {
  return [{ kind: 'ambiguous', error }, rejected, { kind: 'ambiguous', error }];
}
