import { execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type LocalServers, startRedis, startTogether } from '../../dev/servers/index.ts';
import { openContext } from '../../dev/servers/open-context.ts';
import { applyMigrations } from '../../src/operations/schema.ts';
import { openDatabase } from '../../src/store/database/pool.ts';
import { nodeFolder } from '../../test/versions/node-program.ts';
import type { Servers } from './arena.ts';
import { Arrivals } from './arrivals.ts';
import { root } from './contenders.ts';
import type { ServerPids } from './processor-time.ts';

/** Newest of the line that peers ask for: all contenders run on it. */
export const newerNode = '24.21.0';

/** Installs the peers where their lock is newer than what is installed. */
export function installPeers(tell: (line: string) => void): void {
  const folder = join(root, 'bench', 'peers');
  const installed = join(folder, 'node_modules', '.package-lock.json');
  const lock = join(folder, 'package-lock.json');
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs) return;
  tell('npm ci in bench/peers');
  execFileSync(
    'npm',
    ['ci', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'],
    { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] },
  );
}

/** The program of a newer Node, fetched where it is missing. */
export async function newerNodeProgram(tell: (line: string) => void): Promise<string> {
  if (process.versions.node === newerNode) return process.execPath;
  const context = await openContext({ env: process.env, progress: tell });
  return join(await nodeFolder(context, newerNode), 'node');
}

/** Everything that runs beside the contenders. */
export interface Stand {
  readonly servers: Servers;
  readonly local: LocalServers;
  close(): Promise<void>;
}

/** Starts the servers, with an outbox. */
export async function openStand(tell: (line: string) => void): Promise<Stand> {
  const local = await startTogether({ env: process.env, progress: tell });
  const redis = await startRedis({ env: process.env, progress: tell });
  const database = openDatabase({ url: local.postgres.url, connections: 8 });
  const arrivals = new Arrivals(local.kafka.brokers);
  const close = async (): Promise<void> => {
    await Promise.allSettled([arrivals.close(), database.close()]);
    await Promise.all([local.stop(), redis.stop()]);
  };
  try {
    await applyMigrations(local.postgres);
    await arrivals.connect();
  } catch (error) {
    await close();
    throw error;
  }
  const pids = Object.entries({
    postgres: local.postgres.node?.pid,
    kafka: local.kafka.nodes[0]?.pid,
    temporal: local.temporal.node?.pid,
    redis: redis.node?.pid,
  }).filter((entry): entry is [string, number] => entry[1] !== undefined);
  return {
    local,
    servers: {
      arrivals,
      database,
      pids: Object.fromEntries(pids) as ServerPids,
      databaseUrl: local.postgres.url,
      brokers: local.kafka.brokers,
      temporalAddress: local.temporal.address,
      redisUrl: redis.url,
    },
    close,
  };
}
