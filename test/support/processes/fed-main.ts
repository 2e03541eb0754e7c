import { setTimeout as delay } from 'node:timers/promises';
import { memorySource } from '../../../src/brokers/memory/memory-source.ts';
import { rabbitmq } from '../../../src/brokers/rabbitmq/transport/rabbitmq-transport.ts';
import { crashAt } from '../../../src/testing/crash-at.ts';
import { openPrisma } from '../fixtures/prisma.ts';
import { type FedMessage, type FedSettings, feed, startFed } from './fed-consumer.ts';
import type { Crash } from './program.ts';

/** A consumer, whose handler fails or dies as configured. */
export interface FedProcessSettings
  extends Pick<
    FedSettings,
    | 'group'
    | 'quickRetries'
    | 'retry'
    | 'temporalAddress'
    | 'batch'
    | 'maxKills'
    | 'inBatches'
    | 'transactionTimeout'
  > {
  readonly url: string;
  /** The messages of its broker in memory. */
  readonly feeds: readonly FedMessage[];
  /** Instead of that: a RabbitMQ, whose queue all consumers of the group share. */
  readonly rabbitmqUrl?: string;
  /** The message whose handler throws, or all of them, and how often. @defaultValue once */
  readonly failing?: number | 'all';
  readonly failures?: number;
  /** The message whose handler kills the process. */
  readonly deadly?: number;
  /** Messages with slow handlers; the process is killed when all of them are in hand, or after two seconds. */
  readonly lingering?: readonly number[];
  /** How long those handlers take. @defaultValue forever */
  readonly laneIdleTimeoutMs?: number;
  readonly crash?: Crash;
}

const {
  crash,
  deadly,
  failing,
  failures = 1,
  feeds,
  lingering = [],
  laneIdleTimeoutMs,
  rabbitmqUrl,
  url,
  ...settings
} = JSON.parse(process.argv[2] ?? '') as FedProcessSettings;

if (crash !== undefined) crashAt(crash.point, { pass: crash.pass });
const inHand = new Set<number>();
const inMemory = memorySource({ partitions: 1 });
feed(inMemory, ...feeds);
const source =
  rabbitmqUrl === undefined ? inMemory : rabbitmq({ url: rabbitmqUrl, queues: { order: false } }).source();
await startFed(openPrisma(url), source, {
  ...settings,
  name: 'doomed',
  before: async ({ attempt, payload: { n } }) => {
    if (lingering.includes(n)) {
      inHand.add(n);
      process.stdout.write(`in hand ${n}\n`);
      await (laneIdleTimeoutMs === undefined ? new Promise(() => undefined) : delay(laneIdleTimeoutMs));
    }
    if (n === deadly) {
      const until = performance.now() + 2_000;
      while (inHand.size < lingering.length && performance.now() < until) await delay(10);
      process.kill(process.pid, 'SIGKILL');
    }
    if ((failing === 'all' || n === failing) && attempt <= failures) throw new Error('the bank is closed');
  },
});
