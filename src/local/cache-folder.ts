import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { OutboxError } from '../core/errors.ts';
import type { Environment } from './local-options.ts';

/** Whose cache is looked for. */
export interface CacheUser {
  readonly platform: NodeJS.Platform;
  readonly root: boolean;
  readonly home: string;
}

/**
 * The folder that holds downloads, data, logs and run records.
 *
 * For root it is outside of the home folder, which nobody else may enter: PostgreSQL refuses to run as root and
 * must reach its files as another user.
 */
export function cacheFolder(env: Environment, user: CacheUser): string {
  if (env['TEMPORAL_OUTBOX_CACHE']) return env['TEMPORAL_OUTBOX_CACHE'];
  if (user.root) return '/var/cache/temporal-outbox';
  if (user.platform === 'darwin') return join(user.home, 'Library', 'Caches', 'temporal-outbox');
  return join(env['XDG_CACHE_HOME'] || join(user.home, '.cache'), 'temporal-outbox');
}

/** Makes a folder and its parents, and lets every user pass through it whatever the umask says. */
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
