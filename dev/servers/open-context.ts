import { homedir } from 'node:os';
import { OutboxError } from '../../src/core/errors.ts';
import type { LocalContext } from './local-context.ts';
import type { Environment, LocalOptions } from './local-options.ts';
import { reapAbandoned } from './process/reap-abandoned.ts';
import { cacheFolder, makeOpenFolder } from './providers/cache-folder.ts';

/** Checks the options, creates the cache folder, and stops servers left running by earlier processes. */
export async function openContext(options: LocalOptions): Promise<LocalContext> {
  const { env, keep, signal } = options;
  if (keep !== undefined) assertKeptName(keep);
  signal?.throwIfAborted();
  const cache = await makeOpenFolder(cacheOf(env));
  const tell = options.progress ?? (() => {});
  await reapAbandoned(cache, tell);
  return { env, cache, tell, keep, ports: options.ports ?? {}, died: options.died ?? (() => {}), signal };
}

/** @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function assertKeptName(keep: string): void {
  if (/^[a-z0-9-]{1,40}$/.test(keep)) return;
  throw new OutboxError(
    'OUTBOX_OPTION_INVALID',
    `The name of kept servers must be 1 to 40 of a-z, 0-9 and "-", but it is "${keep}".`,
    { details: { keep } },
  );
}

/** The cache folder of the user of this process. */
export function cacheOf(env: Environment): string {
  return cacheFolder(env, {
    platform: process.platform,
    root: process.getuid?.() === 0,
    home: env['HOME'] ?? homedir(),
  });
}
