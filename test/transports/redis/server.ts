import { stderr } from 'node:process';
import { createClient } from '@redis/client';
import { type LocalRedis, startRedis } from '../../../dev/servers/index.ts';
import { inMemory } from '../../support/fixtures/memory-cache.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** `redis://host:port` of a Redis of the transports' own: the longest value that it takes is a million bytes and some. */
    redisTransportUrl: string;
  }
}

/** What the set-up needs of vitest's project. */
interface Project {
  provide(key: 'redisTransportUrl', value: string): void;
}

/** The one server of a test run, and how many projects use it. */
interface Shared {
  server?: Promise<LocalRedis>;
  users: number;
}

// Each project loads this file anew, so what they share must lie outside of it.
const registry = globalThis as typeof globalThis & { [key: symbol]: Shared | undefined };
const sharedKey = Symbol.for('temporal-outbox.test-redis');

async function start(): Promise<LocalRedis> {
  const { REDIS_URL: _, ...env } = await inMemory(process.env);
  const server = await startRedis({ env, progress: (line) => void stderr.write(`${line}\n`) });
  const client = createClient({ url: server.url });
  await client.connect();
  // The least that Redis can be told.
  await client.configSet('proto-max-bulk-len', String(1_024 * 1_024));
  await client.close();
  return server;
}

/** A vitest `globalSetup`: one Redis for the tests of its transports. */
export async function setup(project: Project): Promise<() => Promise<void>> {
  const shared = (registry[sharedKey] ??= { users: 0 });
  shared.users += 1;
  shared.server ??= start();
  const { url } = await shared.server;
  project.provide('redisTransportUrl', url);
  return async () => {
    shared.users -= 1;
    if (shared.users > 0) return;
    delete registry[sharedKey];
    await (await shared.server)?.stop();
  };
}
