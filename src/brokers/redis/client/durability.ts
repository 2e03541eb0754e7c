import type { RedisClient } from './open-client.ts';
import { infoOf } from './server-version.ts';

/** The settings that decide what a server keeps; `undefined`: this user may not read it. */
export interface RedisDurability {
  /** Whether there is an append-only file. */
  readonly appendOnly: boolean | undefined;
  /** `appendfsync` */
  readonly appendFsync: string | undefined;
  /** `maxmemory-policy` */
  readonly eviction: string | undefined;
  /** `maxmemory`, in bytes; 0: no limit. */
  readonly maxMemory: number | undefined;
}

/** Asks by INFO what may be known by it, because hosted servers often forbid CONFIG. */
export async function durabilityOf(client: RedisClient): Promise<RedisDurability> {
  const none: ReadonlyMap<string, string> = new Map();
  const persistence = await infoOf(client, 'persistence').catch(() => none);
  const memory = await infoOf(client, 'memory').catch(() => none);
  const settings = await client.configGet('appendfsync').catch(() => undefined);
  const file = persistence.get('aof_enabled');
  const limit = memory.get('maxmemory');
  return {
    appendOnly: file === undefined ? undefined : file === '1',
    appendFsync: settings?.['appendfsync'],
    eviction: memory.get('maxmemory_policy'),
    maxMemory: limit === undefined ? undefined : Number(limit),
  };
}
