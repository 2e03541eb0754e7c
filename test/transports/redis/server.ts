import { stderr } from 'node:process';
import { createClient } from '@redis/client';
import { type LocalRedis, startRedis } from '../../../dev/servers/index.ts';
import { inMemory } from '../../support/fixtures/memory-cache.ts';
import { sharedServer } from '../../support/fixtures/shared-server.ts';

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
  const { release, server } = await sharedServer('redis', start, (one) => one.stop());
  project.provide('redisTransportUrl', server.url);
  return release;
}
