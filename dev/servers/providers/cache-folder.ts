import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { OutboxError } from '../../../src/core/errors.ts';
import type { Environment } from '../local-options.ts';

/** The user whose cache folder is wanted. */
export interface CacheUser {
  readonly platform: NodeJS.Platform;
  readonly root: boolean;
  readonly home: string;
}

/**
 * The folder that holds downloads, data, logs and run records.
 *
 * For root it is outside the home folder, which other users cannot enter: PostgreSQL refuses to run as root and
 * must reach its files as another user.
 */
export function cacheFolder(env: Environment, user: CacheUser): string {
  if (env['TEMPORAL_OUTBOX_CACHE']) return env['TEMPORAL_OUTBOX_CACHE'];
  if (user.root) return '/var/cache/temporal-outbox';
  if (user.platform === 'darwin') return join(user.home, 'Library', 'Caches', 'temporal-outbox');
  return join(env['XDG_CACHE_HOME'] || join(user.home, '.cache'), 'temporal-outbox');
}

/** Creates a folder and its parents, and lets every user traverse it whatever the umask. */
export async function makeOpenFolder(folder: string): Promise<string> {
  try {
    await mkdir(folder, { recursive: true });
    await chmod(folder, 0o755);
  } catch (error) {
    throw new OutboxError(
      'OUTBOX_SERVER_UNAVAILABLE',
      `The folder ${folder} for local servers cannot be written. Set TEMPORAL_OUTBOX_CACHE to one that can.`,
      { cause: error, details: { folder } },
    );
  }
  return folder;
}
