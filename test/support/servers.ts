import { execFile } from 'node:child_process';
import { stderr } from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  type LocalRedis,
  type LocalServers,
  startRedis,
  startTogether,
  timeSkippingServer,
} from '../../src/local/index.ts';
import { inMemory } from './memory-cache.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Connection string of a superuser: test files make databases of their own. */
    databaseUrl: string;
    /** `host:port` of a Temporal server with the namespace `default` and the search attributes of the outbox. */
    temporalAddress: string;
    /** `host:port` of each broker, separated by commas. Topics must be made before use. */
    kafkaBrokers: string;
    /** `redis://host:port` of a Redis that is empty at first: test files use keys of their own. */
    redisUrl: string;
  }
}

/** What the set-up needs of vitest's project. */
interface Project {
  provide(key: 'databaseUrl' | 'temporalAddress' | 'kafkaBrokers' | 'redisUrl', value: string): void;
}

/** What the library needs, and what only parts of it use. */
interface TestServers extends LocalServers {
  readonly redis: LocalRedis;
}

/** The one set of servers of a test run, and how many projects use it. */
interface Shared {
  servers?: Promise<TestServers>;
  users: number;
}

// Each project loads this file anew, so what they share must lie outside of it.
const registry = globalThis as typeof globalThis & { [key: symbol]: Shared | undefined };
const sharedKey = Symbol.for('temporal-outbox.test-servers');

/** Commands are run as they are built. */
async function build(): Promise<void> {
  const program = fileURLToPath(new URL('../../tools/build.mjs', import.meta.url));
  await promisify(execFile)(process.execPath, [program, '--when-stale']);
}

/** The time-skipping server is only fetched: tests start their own, and none of them should wait for a download. */
async function startAll(): Promise<TestServers> {
  const options = { env: await inMemory(process.env), progress, durable: false };
  await build();
  await timeSkippingServer(options);
  const redis = await startRedis(options);
  try {
    const servers = await startTogether(options);
    const stop = async () => {
      await Promise.all([servers.stop(), redis.stop()]);
    };
    return { ...servers, redis, stop };
  } catch (error) {
    await redis.stop();
    throw error;
  }
}

/**
 * A vitest `globalSetup`: PostgreSQL, Temporal, one Kafka broker and Redis, started once per test run.
 *
 * Name it only in projects that need servers; a run of others starts none.
 */
export async function setup(project: Project): Promise<() => Promise<void>> {
  const shared = (registry[sharedKey] ??= { users: 0 });
  shared.users += 1;
  shared.servers ??= startAll();
  const servers = await shared.servers;
  project.provide('databaseUrl', servers.postgres.url);
  project.provide('temporalAddress', servers.temporal.address);
  project.provide('kafkaBrokers', servers.kafka.brokers.join(','));
  project.provide('redisUrl', servers.redis.url);
  return async () => {
    shared.users -= 1;
    if (shared.users > 0) return;
    delete registry[sharedKey];
    await servers.stop();
  };
}

function progress(line: string): void {
  stderr.write(`${line}\n`);
}
