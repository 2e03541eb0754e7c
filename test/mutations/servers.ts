import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { setup } from '../support/fixtures/servers.ts';

const names = {
  databaseUrl: 'DATABASE_URL',
  temporalAddress: 'TEMPORAL_ADDRESS',
  kafkaBrokers: 'KAFKA_BROKERS',
  redisUrl: 'REDIS_URL',
};

/** The servers of the tests, started once for all bugs: a start takes as long as many a test. */
export async function startServers(
  root: string,
): Promise<{ readonly servers: Readonly<Record<string, string>>; readonly stop: () => Promise<void> }> {
  execFileSync(process.execPath, [join(root, 'tools/build.mjs'), '--when-stale'], { stdio: 'inherit' });
  const servers: Record<string, string> = {};
  const stop = await setup({ provide: (key, value) => void (servers[names[key]] = value) });
  return { servers, stop };
}
