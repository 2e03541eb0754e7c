import type { Mutation } from '../mutation.ts';

const oneReader = 'A stream or list of Redis is read by one member of a group at a time';
const shared = 'Without order the members of a group share a stream of Redis';
const inTime = 'A reader of Redis asks for no more than arrives in time';
const kept = 'Redis keeps what it acknowledged as its settings say';

/** A message goes to Redis, and comes from there. */
export const redisMutations: readonly Mutation[] = [
  {
    name: 'redis-recovery-not-reported',
    promise: 'The health of a consumer shows a silent broker',
    file: 'src/brokers/redis/source/queue-reader.ts',
    find: '      if (cut) changed();\n',
    replace: '',
    test: 'test/integration/health/silent-redis.test.ts',
    title: 'whose connections were cut is healthy again as soon as it reads',
  },
  {
    name: 'redis-slipped-read-unnoticed',
    promise: oneReader,
    file: 'src/brokers/redis/source/stream-queue.ts',
    find: 'if (this.ordered && last.toString() !== this.#lastRead) {',
    replace: "if (this.#lastRead === '') {",
    test: 'test/transports/redis/streams.test.ts',
    title: 'a read by another program in between loses no message and keeps the order',
  },
  {
    name: 'redis-shared-claimed-from-the-living',
    promise: shared,
    file: 'src/brokers/redis/source/shared-scripts.ts',
    find: '    if ends <= now then\n',
    replace: '    if name ~= ARGV[4] then\n',
    test: 'test/transports/redis/together.test.ts',
    title: 'messages in hand stay with a member for longer than any lease and claim while it lives',
  },
  {
    name: 'redis-shared-left-with-the-dead',
    promise: shared,
    file: 'src/brokers/redis/source/shared-scripts.ts',
    find: "string.sub(name, 1, 16) == 'temporal-outbox/'",
    replace: "string.sub(name, 1, 15) == 'temporal-outbox/'",
    test: 'test/transports/redis/together.test.ts',
    title: 'a member that stops leaves its open messages to the others, and no consumer behind',
  },
  {
    name: 'redis-shared-beside-one-reader',
    promise: shared,
    file: 'src/brokers/redis/source/shared-reading.ts',
    find: '[leaseKeyOf(address, group), address,',
    replace: '[membersKeyOf(address, `${group}-lease`), address,',
    test: 'test/transports/redis/together.test.ts',
    title: 'a group changes from one reader to several and back while it runs',
  },
  {
    name: 'redis-cluster-accepted',
    promise: kept,
    file: 'src/brokers/redis/client/single-server.ts',
    find: "fields.get('redis_mode') ?? fields.get('server_mode') ?? ''",
    replace: "fields.get('server_mode') ?? ''",
    test: 'test/transports/redis/cluster.test.ts',
    title: 'a cluster is refused by name, by senders as by consumers, and nothing is stored in it',
  },
  {
    name: 'redis-late-read-repeated',
    promise: inTime,
    file: 'src/brokers/redis/source/queue-reader.ts',
    find: 'if (error instanceof LateReply) this.#size.late(asked);',
    replace: 'if (error instanceof LateReply) this.#size.late(2 * asked);',
    test: 'test/transports/redis/large-entries.test.ts',
    title: 'full of large messages is read over a network that cannot pass a batch of them in time',
  },
  {
    name: 'redis-list-acknowledged-twice',
    promise: oneReader,
    file: 'src/brokers/redis/source/list-queue.ts',
    find: "if redis.call('GET', KEYS[3]) ~= ARGV[3] then return 0 end\n",
    replace: '',
    test: 'test/transports/redis/lists.test.ts',
    title: 'an acknowledgement that the network delivers late removes nothing that is still to be handled',
  },
  {
    name: 'redis-list-acknowledged-without-lease',
    promise: oneReader,
    file: 'src/brokers/redis/source/list-queue.ts',
    find: "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end\nif redis.call('GET', KEYS[3])",
    replace: "if redis.call('GET', KEYS[3])",
    test: 'test/transports/redis/lists.test.ts',
    title: 'a reader that has lost the lease acknowledges nothing of a list',
  },
  {
    name: 'redis-eviction-not-reported',
    promise: kept,
    file: 'src/brokers/redis/transport/redis-checks.ts',
    find: "if (eviction === 'noeviction' || maxMemory === 0)",
    replace: "if (eviction === 'noeviction' || maxMemory !== 0)",
    test: 'test/integration/doctor/brokers.test.ts',
    title: 'a Redis that may lose or delete what it has acknowledged is named with the setting',
  },
  {
    name: 'redis-replicas-not-waited-for',
    promise: kept,
    file: 'src/brokers/redis/transport/with-replicas.ts',
    find: 'if (reached >= count) return sent.value;',
    replace: 'if (reached >= 0) return sent.value;',
    test: 'test/transports/redis/outages.test.ts',
    title: 'with replicas acknowledges messages that enough replicas have, and reports the rest as ambiguous',
  },
];
