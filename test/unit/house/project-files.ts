import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** The folder of package.json. */
export const projectRoot = resolve(import.meta.dirname, '..', '..', '..');

/** Paths of the files that are committed or about to be, without what .gitignore names. */
export function projectFiles(): readonly string[] {
  return execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: projectRoot,
    encoding: 'utf8',
  })
    .split('\n')
    .filter((path) => path !== '' && existsSync(join(projectRoot, path)));
}

/** The text of a file of the project, or `undefined` for a binary one. */
export function textOf(path: string): string | undefined {
  const bytes = readFileSync(join(projectRoot, path));
  return bytes.includes(0) ? undefined : bytes.toString('utf8');
}
