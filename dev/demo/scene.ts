import type { PrismaClient } from '../generated/shop/client.ts';
import type { Environment, LocalServers } from '../servers/index.ts';
import { startTogether } from '../servers/index.ts';
import { KafkaLog } from './kafka-log.ts';
import { type RelayProcess, startRelayProcess } from './relay-process.ts';
import { type Addresses, shopConfig } from './shop-config.ts';
import { type InboxWatch, startShopConsumer } from './shop-consumer.ts';
import { type OutboxReader, openOutboxReader, openShopDatabase } from './shop-database.ts';
import { orderEvents, orderTimeout } from './shop-topics.ts';
import { until } from './until.ts';
import { duration } from './wording.ts';

export interface SceneOptions {
  readonly env: Environment;
  /** Takes one line of the story. */
  readonly tell: (line: string) => void;
  readonly signal: AbortSignal;
}

/** The servers, clients and processes of the demo. */
export interface Scene {
  readonly servers: LocalServers;
  readonly addresses: Addresses;
  readonly prisma: PrismaClient;
  readonly reader: OutboxReader;
  readonly log: KafkaLog;
  readonly inbox: InboxWatch;
  readonly signal: AbortSignal;
  readonly tell: (line: string) => void;
  /** Waits until a condition is met, by default at most 60 s. */
  readonly until: <Result>(
    expected: string,
    look: () => Promise<Result | undefined | false> | Result | undefined | false,
    withinMs?: number,
  ) => Promise<Result>;
  /** The current relay. */
  relay(): RelayProcess;
  /** Starts another relay to replace the one that ended. */
  restartRelay(): Promise<RelayProcess>;
  /** Stops everything in reverse order. */
  close(): Promise<void>;
}

const partitions = 3;
const untilWithinMs = 60_000;
/** Ignored: the demo stops brokers and writes tables, so it always starts separate servers. */
const givenServers = ['DATABASE_URL', 'KAFKA_BROKERS', 'TEMPORAL_ADDRESS', 'TEMPORAL_UI_URL'];

/** Starts servers, shop, relay and consumer. Stops what it has started if one of them does not start. */
export async function openScene(options: SceneOptions): Promise<Scene> {
  const closers: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    const failures: unknown[] = [];
    for (let closer = closers.pop(); closer !== undefined; closer = closers.pop()) {
      await closer().catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
  };
  try {
    return await open(options, closers, close);
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }
}

async function open(
  { env, tell, signal }: SceneOptions,
  closers: (() => Promise<unknown>)[],
  close: () => Promise<void>,
): Promise<Scene> {
  const servers = await startServers(env, tell, signal);
  closers.push(() => servers.stop());
  signal.throwIfAborted();
  const addresses = {
    databaseUrl: servers.postgres.url,
    temporalAddress: servers.temporal.address,
    temporalNamespace: servers.temporal.namespace,
    kafkaBrokers: servers.kafka.brokers.join(','),
  };
  const prisma = await openShopDatabase(addresses.databaseUrl);
  closers.push(() => prisma.$disconnect());
  const reader = openOutboxReader(addresses.databaseUrl);
  closers.push(() => reader.$disconnect());
  const log = new KafkaLog(servers.kafka.brokers);
  await log.createTopics([orderEvents.rules.address, orderTimeout.rules.address], partitions);
  tell('Tables of the outbox and of the shop are in the database, topics in Kafka.');

  let relay = await startRelayProcess(addresses, signal);
  closers.push(() => relay.stop());
  tell(
    `The relay runs as a process of its own (pid ${relay.pid}), ready after ${duration(relay.readyAfterMs)}.`,
  );
  const config = shopConfig(addresses);
  closers.push(() => Promise.all(Object.values(config.transports).map((transport) => transport.close())));
  const inbox = await startShopConsumer(prisma, config);
  closers.push(() => inbox.stop());
  tell('The consumer has joined its group.');
  return {
    servers,
    addresses,
    prisma,
    reader,
    log,
    inbox,
    signal,
    tell,
    until: (expected, look, withinMs = untilWithinMs) => until(expected, look, { withinMs, signal }),
    relay: () => relay,
    restartRelay: async () => (relay = await startRelayProcess(addresses, signal)),
    close,
  };
}

async function startServers(
  env: Environment,
  tell: (line: string) => void,
  signal: AbortSignal,
): Promise<LocalServers> {
  const ignored = givenServers.filter((name) => (env[name] ?? '') !== '');
  if (ignored.length > 0)
    tell(`${ignored.join(' and ')} are not used: the demo stops servers, so it starts its own.`);
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => !givenServers.includes(name)));
  return startTogether({ env: own, progress: tell, signal });
}
