import type { Table } from '../../../core/options/collections.ts';
import { optionTable } from '../../../core/options/option-table.ts';
import type { ReceivingTransport } from '../../receiving-transport.ts';
import type { PublishOutcome } from '../../transport.ts';
import { envelopeText } from '../client/message-format.ts';
import { redisClient } from '../client/redis-package.ts';
import { redisServer } from '../client/redis-server.ts';
import { redisListSource } from '../source/list-source.ts';
import {
  type RedisOptions,
  type ReplicaOptions,
  redisOptions,
  replicaOptions,
  replicaRules,
} from './redis-options.ts';
import { redisPublisher } from './redis-publisher.ts';
import { withReplicas } from './with-replicas.ts';

/** Options of {@link redisList}. */
export interface RedisListOptions extends RedisOptions, ReplicaOptions {}

const listOptions = optionTable('redisList()', {
  ...redisOptions,
  ...replicaOptions,
} satisfies Table<RedisListOptions>);

const stored: PublishOutcome = { kind: 'acknowledged', partition: null, offset: null };

/**
 * Delivers to lists of Redis 6.2 or later: `RPUSH` of one JSON text per message, with `id`, `key`, `sentAtMs`, `headers` and
 * `payload`. Addresses are keys; a missing list is created.
 *
 * A list is a queue for **one** group: an acknowledged message is removed, and a second group is refused while another reads
 * the list. A published message is as safe as with {@link redisStream}.
 *
 * @throws {@link OutboxError} `OUTBOX_OPTION_INVALID`; `OUTBOX_PACKAGE_MISSING` without `@redis/client`
 */
export function redisList(options: RedisListOptions): ReceivingTransport {
  const { requestTimeout, server, ...given } = redisServer(listOptions, options);
  const settings = { server, requestTimeoutMs: requestTimeout };
  const replicas = replicaRules(given);
  redisClient();
  const publisher = redisPublisher(settings, {
    name: 'redis-list',
    keeps: true,
    capabilities: () => ({
      withoutOffsets: 'a list keeps nothing of what was acknowledged, so it cannot tell what was lost',
    }),
    probeOf: (address) => ({ commands: [['RPUSH', address, '']], type: 'list' }),
    sender: {
      bytes: (message) => Buffer.byteLength(envelopeText({ ...message, sentAtMs: Date.now() })),
      extraMs: replicas?.timeoutMs ?? 0,
      send: (client, address, messages) =>
        withReplicas(client, replicas, async () => {
          const sentAtMs = Date.now();
          // One command: all messages are stored, or none.
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
