import type { Duration } from '../../../core/duration.ts';
import type { Table } from '../../../core/options/collections.ts';
import { optionTable } from '../../../core/options/option-table.ts';
import { duration, flag, optional, whole } from '../../../core/options/values.ts';
import type { ReceivingTransport } from '../../receiving-transport.ts';
import type { OutgoingMessage, PublishOutcome } from '../../transport.ts';
import type { RedisClient } from '../client/open-client.ts';
import { redisClient } from '../client/redis-package.ts';
import { redisServer } from '../client/redis-server.ts';
import { streamGroups } from '../source/stream-groups.ts';
import { streamOffsets } from '../source/stream-offsets.ts';
import { redisStreamSource } from '../source/stream-source.ts';
import { anyScript } from './probe.ts';
import type { ChunkAnswer } from './publish-chunks.ts';
import {
  type RedisOptions,
  type ReplicaOptions,
  redisOptions,
  replicaOptions,
  replicaRules,
} from './redis-options.ts';
import { redisPublisher } from './redis-publisher.ts';
import { fieldsOf } from './stream-entry.ts';
import { withReplicas } from './with-replicas.ts';

/** Options of {@link redisStream}. */
export interface RedisStreamOptions extends RedisOptions, ReplicaOptions {
  /**
   * About how many entries a stream keeps, from 1: each new entry removes the oldest ones beyond it, **whether they were read
   * or not**; Redis may keep some hundred more. Without it Redis removes none, and the stream grows. @defaultValue no limit
   */
  readonly maxLength?: number;
  /**
   * The idle time, 1 s to 1 day, after which a consumer claims entries that were delivered to consumers of other programs in
   * its group. Entries of consumers of this library are taken over at once. @defaultValue `'1 minute'`
   */
  readonly claimAfter?: Duration;
  /**
   * How consumers of a group receive. True: one of them reads a stream at a time, and another takes over when it ends, so that
   * keys keep their order. False: all of them read it at once, without order. @defaultValue true
   */
  readonly order?: boolean;
}

const streamOptions = optionTable('redisStream()', {
  ...redisOptions,
  ...replicaOptions,
  maxLength: optional(whole(1, undefined)),
  claimAfter: duration('1s', '1 day', '1 min'),
  order: flag(true),
} satisfies Table<RedisStreamOptions>);

/**
 * Delivers to streams of Redis 6.2 or later: one entry per message, with the fields `id`, `key`, `payload` and one for each
 * header. Addresses are keys; a missing stream is created.
 *
 * A batch is sent in chunks, each of which Redis executes atomically. An acknowledged message is as safe as the server's
 * settings make it: see `replicas`, and `appendfsync` in the documentation. At least once: messages in flight when the
 * connection ends are `deferred` with `onWire`.
 *
 * Consumers join a group of the stream. One of them reads a stream at a time, to keep its order, and another takes over when
 * it ends; with `order: false` all read it at once.
 *
 * @throws {@link OutboxError} `OUTBOX_OPTION_INVALID`; `OUTBOX_PACKAGE_MISSING` without `@redis/client`
 */
export function redisStream(options: RedisStreamOptions): ReceivingTransport {
  const { claimAfter, maxLength, order, requestTimeout, server, ...given } = redisServer(
    streamOptions,
    options,
  );
  const settings = { server, requestTimeoutMs: requestTimeout };
  const replicas = replicaRules(given);
  redisClient();
  const limit = maxLength === undefined ? '' : String(maxLength);
  const publisher = redisPublisher(settings, {
    name: 'redis-stream',
    keeps: true,
    capabilities: (link) => ({
      groups: streamGroups(server, link),
      offsets: streamOffsets(server, link),
    }),
    probeOf: (address) => ({ commands: [anyScript, ['XADD', address, '*', 'probe', '']], type: 'stream' }),
    sender: {
      bytes: (message) => Math.max(...fieldsOf(message).map((field) => Buffer.byteLength(field))),
      extraMs: replicas?.timeoutMs ?? 0,
      send: (client, address, messages) =>
        withReplicas(client, replicas, () => append(client, { address, limit, messages })),
    },
  });
  return Object.assign(publisher, {
    source: () => redisStreamSource({ ...settings, claimAfterMs: claimAfter, order }),
  });
}

interface Appended {
  readonly address: string;
  /** `MAXLEN` as a string; empty: no limit. */
  readonly limit: string;
  readonly messages: readonly OutgoingMessage[];
}

/**
 * Appends entries up to the first refused one. Returns its error, or an empty string, then the ids of the others.
 *
 * `EVAL` instead of `EVALSHA`: the script is small next to hundreds of entries, and a restarted server lacks it.
 */
const appendScript = `
local answer = { '' }
local at = 2
while at <= #ARGV do
  local last = at + tonumber(ARGV[at])
  local id
  if ARGV[1] == '' then
    id = redis.pcall('XADD', KEYS[1], '*', unpack(ARGV, at + 1, last))
  else
    id = redis.pcall('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', unpack(ARGV, at + 1, last))
  end
  if type(id) == 'table' then
    answer[1] = id.err
    return answer
  end
  answer[#answer + 1] = id
  at = last + 1
end
return answer`;

async function append(client: RedisClient, { address, limit, messages }: Appended): Promise<ChunkAnswer> {
  const args = ['EVAL', appendScript, '1', address, limit];
  for (const message of messages) {
    const fields = fieldsOf(message);
    args.push(String(fields.length));
    for (const field of fields) args.push(field);
  }
  const [refusal = '', ...ids] = await client.sendCommand<string[]>(args);
  const outcomes = ids.map((offset): PublishOutcome => ({ kind: 'acknowledged', partition: null, offset }));
  return refusal === '' ? { outcomes } : { outcomes, refusal };
}
