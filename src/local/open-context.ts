import { homedir } from 'node:os';
import { OutboxError } from '../core/errors.ts';
import type { LocalContext } from './local-context.ts';
import type { LocalOptions } from './local-options.ts';
import { reapAbandoned } from './process/reap-abandoned.ts';
import { cacheFolder, makeOpenFolder } from './providers/cache-folder.ts';

/** Checks the options, creates the cache folder, and stops servers left running by earlier processes. */
export async function openContext(options: LocalOptions): Promise<LocalContext> {
  const { env, keep, signal } = options;
  if (keep !== undefined && !/^[a-z0-9-]{1,40}$/.test(keep)) {
    throw new OutboxError(
      'OUTBOX_OPTION_INVALID',
      `keep must be 1 to 40 of a-z, 0-9 and "-", but it is "${keep}".`,
      {
        details: { keep },
      },
    );
  }
  signal?.throwIfAborted();
  const user = { platform: process.platform, root: process.getuid?.() === 0, home: env['HOME'] ?? homedir() };
  const cache = await makeOpenFolder(cacheFolder(env, user));
  const tell = options.progress ?? (() => {});
  await reapAbandoned(cache, tell);
  return { env, cache, tell, keep, ports: options.ports ?? {}, signal };
}
