import { incomingMessage } from '../../../../src/brokers/incoming-message.ts';
import type { RedisClient } from '../../../../src/brokers/redis/client/open-client.ts';
import { redisClient } from '../../../../src/brokers/redis/client/redis-package.ts';
import {
  type Queue,
  type QueueLease,
  type QueueRead,
  releaseReading,
  renewReading,
} from '../../../../src/brokers/redis/source/queue.ts';
import { redisSource } from '../../../../src/brokers/redis/source/redis-source.ts';
import type { IncomingMessage } from '../../../../src/brokers/source.ts';
import { redisServerAt } from '../../../support/fixtures/redis-server.ts';
import { type RedisReply, scriptedRedis } from '../../../support/fixtures/scripted-redis.ts';
import { subscriberOf } from '../subscriber.ts';

const paces = {
  leaseMs: 60_000,
  renewEveryMs: 20,
  standbyMs: 15,
  newsMs: 40,
  reconnectMs: { first: 5, most: 20 },
} as const;

/** A queue that answers its reads from a list, then always the same. */
class ScriptedQueue implements Queue {
  readonly ordered = true;
  readsOn = true;
  readonly address: string;
  readonly #leaseKey: string;
  readonly answers: (QueueRead | Error | (() => Promise<QueueRead>))[] = [];
  /** What was called, in order. */
  readonly calls: string[] = [];
  readonly asked: number[] = [];
  readonly leases: QueueLease[] = [];
  readonly readAtMs: number[] = [];
  /** The answer after those of the list. */
  lasting: QueueRead = mine();
  /** Of every read. */
  failure: Error | undefined;
  messages = 3;

  constructor(address: string) {
    this.address = address;
    this.#leaseKey = `${address}:reader`;
  }

  async read(_client: unknown, lease: QueueLease, most: number): Promise<QueueRead> {
    this.calls.push('read');
    this.asked.push(most);
    this.leases.push(lease);
    this.readAtMs.push(performance.now());
    const answer = this.failure ?? this.answers.shift() ?? this.lasting;
    if (answer instanceof Error) throw answer;
    return typeof answer === 'function' ? answer() : answer;
  }

  async done(_client: unknown, _lease: QueueLease, messages: readonly IncomingMessage[]): Promise<void> {
    this.calls.push(`done ${messages.map(({ offset }) => offset).join()}`);
  }

  renew(client: RedisClient, lease: QueueLease): Promise<boolean> {
    return renewReading(client, this.#leaseKey, lease);
  }

  release(client: RedisClient, lease: QueueLease): Promise<void> {
    return releaseReading(client, this.#leaseKey, lease);
  }

  reread(): void {
    this.calls.push('reread');
  }

  /** Waits until the time is over, or the connection ends. */
  async news(client: { sendCommand(command: string[]): Promise<unknown> }, ms: number): Promise<void> {
    this.calls.push('news');
    await client.sendCommand(['NEWS', this.address, String(ms)]);
  }

  async lag(): Promise<number> {
    return this.messages;
  }

  conflict(): undefined {
    return undefined;
  }
}

export const taken: QueueRead = { kind: 'taken', holder: 'stock/2' };

export function mine(offsets: readonly string[] = []): QueueRead {
  const messages = offsets.map((offset) =>
    incomingMessage({
      address: 'orders',
      partition: 0,
      offset,
      key: null,
      body: Buffer.from(offset),
      headers: {},
      timestamp: new Date(),
    }),
  );
  return { kind: 'mine', messages, bytes: 10 * offsets.length, notices: [] };
}

/** A source of two queues that the test fills, at a server that answers what the test says to the questions about leases. */
export async function stage(leaseMs: number = paces.leaseMs) {
  // It takes longer than a test to load it.
  redisClient();
  const lease = { renewed: 1 as RedisReply, released: 1 as RedisReply };
  const server = await scriptedRedis(async (command) => {
    const [name, script = ''] = command;
    if (name === 'NEWS') await new Promise((resolve) => setTimeout(resolve, Number(command[2])));
    if (name !== 'EVAL') return 'OK';
    return script.includes('DEL') ? lease.released : lease.renewed;
  });
  const queues = new Map([
    ['orders', new ScriptedQueue('orders')],
    ['bills', new ScriptedQueue('bills')],
  ]);
  const settings = { server: redisServerAt({ url: server.url }), requestTimeoutMs: 5_000 };
  const source = redisSource(
    settings,
    { name: 'redis-test', queueOf: (address) => queues.get(address) ?? new ScriptedQueue(address) },
    { ...paces, leaseMs },
  );
  return {
    server,
    source,
    lease,
    orders: queues.get('orders') ?? new ScriptedQueue(''),
    bills: queues.get('bills') ?? new ScriptedQueue(''),
    ...subscriberOf(source, { concurrency: 1, batchSize: 100 }),
    /** The commands about leases that the server got: the script, and the key and holder after it. */
    leaseCommands: () =>
      server.commands
        .filter(([name]) => name === 'EVAL')
        .map(([, script = '', , key, holder]) => ({
          kind: script.includes('DEL') ? 'release' : 'renew',
          key,
          holder,
        })),
  };
}
