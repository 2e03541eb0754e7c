import { createHash } from 'node:crypto';
import { readlink, statfs, symlink } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { cacheFolder, makeOpenFolder } from '../../src/local/cache-folder.ts';
import type { Environment } from '../../src/local/index.ts';

/** Where Linux keeps files in memory. */
const memory = '/dev/shm';
/** What must be free there: far more than the servers of all tests hold at once. */
const leastBytes = 4 * 1024 ** 3;

/**
 * The environment for servers whose data may lie in memory, where there is enough of it; the given one elsewhere.
 *
 * Hundreds of databases come and go in a test run, each of hundreds of files, and on a disk their making takes as much of
 * the processors as what the tests do with them. Downloads and logs are shared with the usual cache folder.
 */
export async function inMemory(env: Environment): Promise<Environment> {
  const free = await statfs(memory).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  );
  if (Math.min(free, process.availableMemory()) < leastBytes) return env;
  const user = { platform: process.platform, root: process.getuid?.() === 0, home: homedir() };
  const usual = await makeOpenFolder(cacheFolder(env, user));
  // The same for every run, so that each ends what an earlier one left behind when it was killed.
  const name = createHash('sha256').update(usual).digest('hex').slice(0, 8);
  const cache = join(memory, `temporal-outbox-${name}`);
  await makeOpenFolder(cache);
  for (const shared of ['installed', 'log']) {
    const target = await makeOpenFolder(join(usual, shared));
    // An earlier run may have made it.
    await symlink(target, join(cache, shared)).catch(() => readlink(join(cache, shared)));
  }
  return { ...env, TEMPORAL_OUTBOX_CACHE: cache };
}
