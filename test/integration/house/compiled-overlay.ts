import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { projectRoot, textOf } from '../../unit/house/project-files.ts';

const run = promisify(execFile);

/** A copy of the sources with these files in place of what is there, while `work` runs. */
export async function inCopy<Result>(
  overlay: ReadonlyMap<string, string>,
  work: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'temporal-outbox-copy-')));
  try {
    for (const part of ['src', 'workflows', 'activities', 'prisma', 'package.json', 'tsconfig.json'])
      await cp(join(projectRoot, part), join(folder, part), { recursive: true });
    await symlink(await realpath(join(projectRoot, 'node_modules')), join(folder, 'node_modules'));
    for (const [path, text] of overlay) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What the compiler says of these files of a copy; empty: no error. */
export async function typeErrorsIn(folder: string, files: Iterable<string>): Promise<string> {
  const only = { extends: './tsconfig.json', include: ['src/**/*.d.ts'], files: [...files] };
  await writeFile(join(folder, 'tsconfig.only.json'), JSON.stringify(only));
  const tsc = join(projectRoot, 'node_modules/typescript/bin/tsc');
  return run(process.execPath, [tsc, '-p', 'tsconfig.only.json'], { cwd: folder }).then(
    () => '',
    (error: { readonly stdout?: string }) => String(error.stdout),
  );
}

/** The same of files as if they were in the project in place of what is there. */
export function typeErrors(overlay: ReadonlyMap<string, string>): Promise<string> {
  return inCopy(overlay, (folder) => typeErrorsIn(folder, overlay.keys()));
}

/** A module of a copy: like that of the project, and what was added. */
export async function moduleOf<Module>(folder: string, path: string): Promise<Module> {
  return (await import(join(folder, path))) as Module;
}

/** A line that is added to a file of the project, after what stands there once. */
export interface Edit {
  readonly after: string;
  readonly line: string;
}

/** The files of the project with these lines added. */
export function edited(edits: Readonly<Record<string, readonly Edit[]>>): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(edits).map(([path, lines]) => {
      let text = textOf(path) ?? '';
      for (const { after, line } of lines) {
        if (text.split(after).length !== 2) throw new Error(`not once in ${path}: ${after}`);
        text = text.replace(after, after + line);
      }
      return [path, text];
    }),
  );
}
