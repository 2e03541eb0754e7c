import { envelopeText } from '../../redis/message-format.ts';
import { redisClient } from '../../redis/redis-package.ts';
import { redisListSource } from '../../sources/redis/list-source.ts';
import type { ReceivingTransport } from '../receiving-transport.ts';
import type { PublishOutcome } from '../transport.ts';
import {
  type RedisOptions,
  type ReplicaOptions,
  redisSettings,
  replicaOptionNames,
  replicaRules,
} from './redis-options.ts';
import { redisPublisher } from './redis-publisher.ts';
import { withReplicas } from './with-replicas.ts';

/** How messages go to lists, and come from them. */
export interface RedisListOptions extends RedisOptions, ReplicaOptions {}

const stored: PublishOutcome = { kind: 'acknowledged', partition: null, offset: null };

/**
 * Delivers to lists of Redis 6.2 or later: `RPUSH`, a text of JSON per message with `id`, `key`, `sentAtMs`, `headers` and
 * `payload`. Addresses are keys; a list that is missing is made.
 *
 * A list is a queue of **one** group, from which a message is gone once it was acknowledged: a second group finds it taken. What
 * is acknowledged to the sender is as safe as with {@link redisStream}.
 *
 * @throws {@link OutboxError} `OUTBOX_OPTION_INVALID`; `OUTBOX_PACKAGE_MISSING` without `@redis/client`
 */
export function redisList(options: RedisListOptions): ReceivingTransport {
  const maker = 'redisList()';
  const settings = redisSettings(maker, options, replicaOptionNames);
  const replicas = replicaRules(maker, options);
  redisClient();
  const publisher = redisPublisher(settings, {
    name: 'redis-list',
    probeOf: (address) => ({ command: ['RPUSH', address, ''], type: 'list' }),
    way: {
      bytes: (message) => Buffer.byteLength(envelopeText({ ...message, sentAtMs: Date.now() })),
      extraMs: replicas?.withinMs ?? 0,
      send: (client, address, messages) =>
        withReplicas(client, replicas, async () => {
          const sentAtMs = Date.now();
          // All or none of them: it is one command.
          await client.rPush(
            address,
            messages.map((message) => envelopeText({ ...message, sentAtMs })),
          );
          return { outcomes: messages.map(() => stored) };
        }),
    },
  });
  return Object.assign(publisher, { source: () => redisListSource(settings) });
}
