import type { Bugs } from '../mutation.ts';

/** Redis, RabbitMQ and RocketMQ. */
export const brokerBugs: Bugs = {
  'one-reader-of-a-redis-stream': {
    'test/transports/redis/streams.test.ts': {
      'redis-slipped-read-unnoticed': {
        file: 'src/brokers/redis/source/stream-queue.ts',
        find: 'if (this.ordered && last.toString() !== this.#lastRead) {',
        replace: `if (this.#lastRead === '') {`,
      },
    },
    'test/transports/redis/lists.test.ts': {
      'redis-list-acknowledged-twice': {
        file: 'src/brokers/redis/source/list-queue.ts',
        find: `if redis.call('GET', KEYS[3]) ~= ARGV[3] then return 0 end`,
      },
      'redis-list-acknowledged-without-lease': {
        file: 'src/brokers/redis/source/list-queue.ts',
        find: `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if redis.call('GET', KEYS[3])`,
        replace: `if redis.call('GET', KEYS[3])`,
      },
    },
  },
  'redis-stream-shared-without-order': {
    'test/transports/redis/together.test.ts': {
      'redis-shared-left-to-one-reader': {
        file: 'src/brokers/redis/source/stream-scripts.ts',
        find: `string.sub(name, 1, 16) == 'temporal-outbox/'`,
        replace: `string.sub(name, 1, 15) == 'temporal-outbox/'`,
      },
      'redis-shared-idle-spins': {
        file: 'src/brokers/redis/source/stream-queue.ts',
        find: '(entries.at(-1)?.[0] ?? last).toString()',
        replace: '(entries.at(-1)?.[0] ?? this.#lastRead).toString()',
      },
      'redis-shared-claimed-from-the-living': {
        file: 'src/brokers/redis/source/shared-scripts.ts',
        find: 'if ends <= now then',
        replace: 'if name ~= ARGV[4] then',
      },
      'redis-shared-left-with-the-dead': {
        file: 'src/brokers/redis/source/shared-scripts.ts',
        find: `string.sub(name, 1, 16) == 'temporal-outbox/'`,
        replace: `string.sub(name, 1, 15) == 'temporal-outbox/'`,
      },
      'redis-shared-beside-one-reader': {
        file: 'src/brokers/redis/source/shared-reading.ts',
        find: '[leaseKeyOf(address, group), address,',
        replace: '[membersKeyOf(address, `${group}-lease`), address,',
      },
    },
    'test/transports/redis/resting.test.ts': {
      'redis-shared-rests-what-is-lost': {
        file: 'src/brokers/redis/source/queue-reader.ts',
        find: 'this.#resting.clear();',
      },
      'redis-shared-resting-hides-the-rest': {
        file: 'src/brokers/redis/source/stream-queue.ts',
        find: `if (!this.ordered) this.#openAfter = entries.at(-1)?.[0].toString() ?? '0';`,
      },
    },
  },
  'redis-reads-what-arrives-in-time': {
    'test/transports/redis/large-entries.test.ts': {
      'redis-late-read-repeated': {
        file: 'src/brokers/redis/source/queue-reader.ts',
        find: 'if (error instanceof LateReply) this.#size.late(asked);',
        replace: 'if (error instanceof LateReply) this.#size.late(2 * asked);',
      },
    },
  },
  'redis-keeps-what-it-acknowledged': {
    'test/transports/redis/cluster.test.ts': {
      'redis-cluster-accepted': {
        file: 'src/brokers/redis/client/single-server.ts',
        find: `fields.get('redis_mode') ?? fields.get('server_mode') ?? ''`,
        replace: `fields.get('server_mode') ?? ''`,
      },
    },
    'test/integration/doctor/brokers.test.ts': {
      'redis-eviction-not-reported': {
        file: 'src/brokers/redis/transport/redis-checks.ts',
        find: `if (eviction === 'noeviction' || maxMemory === 0)`,
        replace: `if (eviction === 'noeviction' || maxMemory !== 0)`,
      },
    },
    'test/transports/redis/outages.test.ts': {
      'redis-replicas-not-waited-for': {
        file: 'src/brokers/redis/transport/with-replicas.ts',
        find: 'if (reached >= count) return sent.value;',
        replace: 'if (reached >= 0) return sent.value;',
      },
    },
  },
  'rabbitmq-unstored-is-unpublished': {
    'test/transports/rabbitmq/delivery.test.ts': {
      'unroutable-counts-as-delivered': {
        file: 'src/brokers/rabbitmq/transport/properties.ts',
        find: 'mandatory: true,',
        replace: 'mandatory: false,',
        title: 'a message that no queue receives is rejected',
      },
      'refusal-of-a-queue-is-not-heard': {
        file: 'src/brokers/rabbitmq/transport/exchange-channel.ts',
        find: 'if (error === null || error === undefined) {',
        replace: 'if (error === null || error === undefined || !this.#closing) {',
        title: 'a message that a full queue refuses may be in others',
      },
      'refusal-of-one-queue-counts-for-all': {
        file: 'src/brokers/rabbitmq/transport/exchange-channel.ts',
        find: `kind: 'ambiguous',`,
        replace: `kind: 'rejected',`,
        title: 'a message that a full queue refuses may be in others',
      },
    },
    'test/transports/rabbitmq/faults.test.ts': {
      'blocked-messages-count-as-not-sent': {
        file: 'src/brokers/rabbitmq/transport/exchange-channel.ts',
        find: 'hold: blockedHold(reason), onWire: true }',
        replace: 'hold: blockedHold(reason), onWire: false }',
      },
    },
  },
  'rabbitmq-order-and-effects': {
    'test/transports/rabbitmq/bindings.test.ts': {
      'rabbitmq-binds-once': {
        file: 'src/brokers/rabbitmq/source/queue-session.ts',
        find: 'if (this.#rules.declare) kept.push',
        replace: 'if (!this.#rules.declare) kept.push',
      },
    },
    'test/transports/rabbitmq/large-messages.test.ts': {
      'rabbitmq-prefetches-without-end': {
        file: 'src/brokers/rabbitmq/source/prefetch.ts',
        find: 'if (bytes <= mostBytes || messages < 2) return false;',
        replace: 'if (bytes <= mostBytes || messages > 2) return false;',
      },
      'prefetch-stays-small': {
        file: 'src/brokers/rabbitmq/source/queue-feed.ts',
        find: 'if (this.#deliveries.length === 0 && this.#options.prefetch.isTooSmall',
        replace: 'if (this.#deliveries.length !== 0 && this.#options.prefetch.isTooSmall',
      },
    },
    'test/unit/brokers/rabbitmq/session-ends.test.ts': {
      'canceled-consumer-keeps-its-channel': {
        file: 'src/brokers/rabbitmq/source/open-queue.ts',
        find: 'const closed = channel.close().catch(() => undefined);',
        replace: 'const closed = Promise.resolve();',
      },
    },
    'test/unit/brokers/rabbitmq/session-joins.test.ts': {
      'queue-of-an-older-server-is-not-received-from': {
        file: 'src/brokers/rabbitmq/source/open-queue.ts',
        find: 'unlimited && codeOf(error) === otherArguments',
        replace: '!unlimited && codeOf(error) === otherArguments',
      },
    },
    'test/transports/rabbitmq/source.test.ts': {
      'an-address-that-is-gone-stops-all': {
        file: 'src/brokers/rabbitmq/source/queue-session.ts',
        find: 'everJoined || link.reason !== undefined) throw error;',
        replace: 'everJoined || link.reason === undefined) throw error;',
        title: 'after a lost connection, a missing address stops no other, and is consumed when it is back',
      },
      'open-deliveries-are-acknowledged': {
        file: 'src/brokers/rabbitmq/source/queue-feed.ts',
        find: 'this.#acknowledge(batch.done())',
        replace: 'this.#acknowledge(ready)',
        title: 'a message that is left open is delivered again',
      },
    },
    'test/transports/rabbitmq/holding.test.ts': {
      'messages-are-held-until-the-server-takes-them': {
        file: 'src/brokers/rabbitmq/source/queue-feed.ts',
        find: 'if (leftMs <= 0) this.#overdue();',
        replace: 'if (leftMs <= -60_000) this.#overdue();',
      },
    },
  },
  'rocketmq-unacknowledged-is-unpublished': {
    'test/unit/brokers/rocketmq/failure.test.ts': {
      'missing-topic-fails-its-messages': {
        file: 'src/brokers/rocketmq/transport/send-failure.ts',
        find: 'TOPIC_NOT_FOUND: topicAway,',
        replace: 'TOPIC_NOT_FOUND: permanent,',
      },
      'one-missing-privilege-stops-all-topics': {
        file: 'src/brokers/rocketmq/transport/send-failure.ts',
        find: 'if (lacksPrivilege(error)) return topicAway;',
      },
    },
  },
  'rocketmq-order-and-effects': {
    'test/transports/rocketmq/receiving.test.ts': {
      'groups-that-give-messages-up-are-joined': {
        file: 'src/brokers/rocketmq/source/membership.ts',
        find: 'if (maxAttempts === 0 || maxAttempts >= leastAttempts) return;',
        replace: 'if (maxAttempts > 0 || maxAttempts >= leastAttempts) return;',
        title: 'a group that is missing or puts messages aside after few deliveries is reported, and',
      },
      'messages-in-hand-are-not-renewed': {
        file: 'src/brokers/rocketmq/source/group-member.ts',
        find: 'await this.#leases.renew(all.flatMap((one) => one.all()));',
        replace: 'await this.#leases.renew([]);',
        title:
          'a handler may take longer than the invisible time and keeps its messages, also when its member was told to stop',
      },
      'a-stop-ends-the-renewal-first': {
        file: 'src/brokers/rocketmq/source/group-member.ts',
        find: `await Promise.all([...this.#polls, ...this.#handing]);
    clearInterval(this.#renewal);`,
        replace: `clearInterval(this.#renewal);
    await Promise.all([...this.#polls, ...this.#handing]);`,
        title:
          'a handler may take longer than the invisible time and keeps its messages, also when its member was told to stop',
      },
    },
    'test/unit/brokers/rocketmq/leased-partition.test.ts': {
      'messages-behind-a-lost-one-are-kept': {
        file: 'src/brokers/rocketmq/source/leased-partition.ts',
        find: 'for (const message of row.slice(first)) message.lost = true;',
        replace: 'for (const message of row.slice(first, first + 1)) message.lost = true;',
      },
      'a-lost-message-is-overtaken': {
        file: 'src/brokers/rocketmq/source/leased-partition.ts',
        find: 'if (this.#ordered) loseBehind(',
        replace: 'if (!this.#ordered) loseBehind(',
      },
      'messages-behind-an-open-one-are-acknowledged': {
        file: 'src/brokers/offered-batch.ts',
        find: 'if (!this.#ordered) return',
        replace: 'if (this.#states.length > 0) return',
      },
    },
    'test/transports/rocketmq/large-messages.test.ts': {
      'messages-of-any-size-are-received': {
        file: 'src/brokers/rocketmq/source/group-member.ts',
        find: 'const mostBytes = 64 *',
        replace: 'const mostBytes = 6_400 *',
      },
    },
  },
};
