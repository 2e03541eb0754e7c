import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { projectRoot } from '../../unit/house/project-files.ts';

const run = promisify(execFile);

/** What the compiler says of these files, as if they were in the project in place of what is there; empty: no error. */
export async function typeErrors(overlay: ReadonlyMap<string, string>): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'temporal-outbox-types-')));
  try {
    for (const part of ['src', 'workflows', 'activities', 'package.json', 'tsconfig.json'])
      await cp(join(projectRoot, part), join(folder, part), { recursive: true });
    await symlink(await realpath(join(projectRoot, 'node_modules')), join(folder, 'node_modules'));
    for (const [path, text] of overlay) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    const only = { extends: './tsconfig.json', include: [], files: [...overlay.keys()] };
    await writeFile(join(folder, 'tsconfig.only.json'), JSON.stringify(only));
    const tsc = join(projectRoot, 'node_modules/typescript/bin/tsc');
    return await run(process.execPath, [tsc, '-p', 'tsconfig.only.json'], { cwd: folder }).then(
      () => '',
      (error: { readonly stdout?: string }) => String(error.stdout),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
