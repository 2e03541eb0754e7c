import type { Table } from '../../../core/options/collections.ts';
import { optionTable } from '../../../core/options/option-table.ts';
import { flag } from '../../../core/options/values.ts';
import type { OutgoingMessage, PublishOutcome, Transport } from '../../transport.ts';
import { envelopeText } from '../client/message-format.ts';
import type { RedisClient } from '../client/open-client.ts';
import { redisClient } from '../client/redis-package.ts';
import { redisServer } from '../client/redis-server.ts';
import { anyScript } from './probe.ts';
import type { ChunkAnswer } from './publish-chunks.ts';
import { type RedisOptions, redisOptions } from './redis-options.ts';
import { redisPublisher } from './redis-publisher.ts';

/** Options of {@link redisPubSub}. */
export interface RedisPubSubOptions extends RedisOptions {
  /**
   * True: a message without subscribers is rejected, and retried by the rules of its topic. @defaultValue false: it is
   * acknowledged, and reaches nobody
   */
  readonly requireReceivers?: boolean;
}

const pubSubOptions = optionTable('redisPubSub()', {
  ...redisOptions,
  requireReceivers: flag(false),
} satisfies Table<RedisPubSubOptions>);

/**
 * Publishes on channels of Redis 6.2 or later: one JSON text per message, as in {@link redisList}. Addresses are channels.
 *
 * **At most once**: acknowledged means that Redis has passed the message to the current subscribers. Redis stores nothing, so
 * a subscriber never receives what it missed. `consumer`, which promises effects, does not receive from channels.
 *
 * @throws {@link OutboxError} `OUTBOX_OPTION_INVALID`; `OUTBOX_PACKAGE_MISSING` without `@redis/client`
 */
export function redisPubSub(options: RedisPubSubOptions): Transport {
  const { requestTimeout, requireReceivers, server } = redisServer(pubSubOptions, options);
  redisClient();
  return redisPublisher(
    { server, requestTimeoutMs: requestTimeout },
    {
      name: 'redis-pub-sub',
      keeps: false,
      probeOf: (address) => ({ commands: [anyScript, ['PUBLISH', address, '']], type: undefined }),
      sender: {
        bytes: (message) => Buffer.byteLength(envelopeText({ ...message, sentAtMs: Date.now() })),
        extraMs: 0,
        send: (client, address, messages) => publish(client, address, messages, requireReceivers),
      },
    },
  );
}

/**
 * Publishes in order. Returns the error of the first refused message, or an empty string, followed by the number of
 * receivers of each message before it. With `requireReceivers`, a message is not published (-1) after an earlier one of
 * its key that had no receivers.
 */
const publishScript = `
local answer = { '' }
local blocked = {}
for at = 2, #ARGV, 2 do
  local key = ARGV[at]
  local received = -1
  if not blocked[key] then
    received = redis.pcall('PUBLISH', ARGV[1], ARGV[at + 1])
    if type(received) == 'table' then
      answer[1] = received.err
      return answer
    end
    if key ~= '' and received == 0 then blocked[key] = true end
  end
  answer[#answer + 1] = received
end
return answer`;

async function publish(
  client: RedisClient,
  address: string,
  messages: readonly OutgoingMessage[],
  requireReceivers: boolean,
): Promise<ChunkAnswer> {
  const sentAtMs = Date.now();
  const args = ['EVAL', publishScript, '0', address];
  // Keys get a prefix, to distinguish an empty key from none.
  for (const message of messages)
    args.push(
      requireReceivers && message.key !== null ? `k${message.key}` : '',
      envelopeText({ ...message, sentAtMs }),
    );
  const [refusal, ...counts] = await client.sendCommand<[string, ...number[]]>(args);
  const outcomes = counts.map((count) => outcomeOf(count, requireReceivers));
  return refusal === '' ? { outcomes } : { outcomes, refusal };
}

function outcomeOf(received: number, requireReceivers: boolean): PublishOutcome {
  if (received < 0) return { kind: 'blocked' };
  if (received === 0 && requireReceivers)
    return { kind: 'rejected', error: 'Nobody has subscribed to the channel.' };
  return { kind: 'acknowledged', partition: null, offset: null };
}
