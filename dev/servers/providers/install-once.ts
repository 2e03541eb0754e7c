import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, lstat, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { LocalContext } from '../local-context.ts';
import { withLockFile } from '../process/lock-file.ts';
import { makeOpenFolder } from './cache-folder.ts';

/**
 * The folder of a package, which is installed first if it is missing.
 *
 * The package is installed in a temporary folder, flushed to disk and then renamed, so a folder that exists is
 * complete. If several processes need it at once, one installs and the others wait.
 *
 * @param install fills the given empty folder; its content must stay usable after a rename.
 */
export async function installOnce(
  context: LocalContext,
  name: string,
  install: (folder: string) => Promise<void>,
): Promise<string> {
  const parent = await makeOpenFolder(join(context.cache, 'installed'));
  const target = join(parent, name);
  if (existsSync(target)) return target;
  const lock = { tell: context.tell, label: `Installing ${name}`, signal: context.signal };
  await withLockFile(join(parent, `${name}.lock`), lock, async () => {
    if (existsSync(target)) return;
    await removeLeftovers(parent, name);
    const partial = await makeOpenFolder(join(parent, `${name}.partial-${randomUUID()}`));
    try {
      await install(partial);
      await publishTree(partial);
      await rename(partial, target);
    } catch (error) {
      await rm(partial, { recursive: true, force: true });
      if (!existsSync(target)) throw error;
    }
  });
  return target;
}

async function removeLeftovers(parent: string, name: string): Promise<void> {
  for (const entry of await readdir(parent)) {
    if (entry.startsWith(`${name}.partial-`)) await rm(join(parent, entry), { recursive: true, force: true });
  }
}

/** Lets every user read the tree, whatever the umask, and flushes it to disk. */
async function publishTree(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true })) {
    const path = join(folder, entry);
    const status = await lstat(path);
    if (status.isSymbolicLink()) continue;
    const executable = status.isDirectory() || (status.mode & 0o100) !== 0;
    await chmod(path, executable ? 0o755 : 0o644);
    if (!status.isFile()) continue;
    const file = await open(path, 'r');
    try {
      await file.sync();
    } finally {
      await file.close();
    }
  }
}
