import { createClient } from '@redis/client';
import { onTestFinished } from 'vitest';
import { type LocalRedis, startRedis } from '../../src/local/index.ts';
import { ownCache } from './local-cache.ts';

/** A Redis that a test may stop, freeze and fill; it ends with the test. */
export async function ownRedis(): Promise<LocalRedis & { readonly node: NonNullable<LocalRedis['node']> }> {
  const { env } = await ownCache();
  const server = await startRedis({ env });
  onTestFinished(() => server.stop());
  if (server.node === undefined) throw new Error('It was not started here.');
  return { ...server, node: server.node };
}

/** A client of it, which ends with the test. */
export async function redisAt(url: string) {
  const client = createClient({ url });
  client.on('error', () => {});
  await client.connect();
  onTestFinished(() => client.destroy());
  return client;
}
