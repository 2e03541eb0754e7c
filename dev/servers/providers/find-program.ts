import { constants } from 'node:fs';
import { access, realpath } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import type { Environment } from '../local-options.ts';

/** The path of a program found on PATH, or `undefined`. */
export async function findOnPath(env: Environment, ...names: readonly string[]): Promise<string | undefined> {
  for (const folder of (env['PATH'] ?? '').split(delimiter)) {
    if (folder === '') continue;
    for (const name of names) if (await isExecutable(join(folder, name))) return join(folder, name);
  }
  return undefined;
}

/** Whether this process may execute the file. */
export async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** The folder of a program, with symbolic links resolved. */
export async function realFolderOf(file: string): Promise<string> {
  return dirname(await realpath(file));
}
