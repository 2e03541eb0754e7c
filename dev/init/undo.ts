import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { InitWritten } from './carry-out.ts';

const run = promisify(execFile);

/** Whether git can bring package.json back as it is now. */
export type GitState = 'committed' | 'changed' | 'none';

/** Asks git about package.json of a folder. Without git, or outside of a repository, it is `none`. */
export async function gitStateOf(folder: string): Promise<GitState> {
  const git = async (...args: readonly string[]) => (await run('git', args, { cwd: folder })).stdout;
  try {
    await git('ls-files', '--error-unmatch', 'package.json');
    return (await git('status', '--porcelain', '--', 'package.json')) === '' ? 'committed' : 'changed';
  } catch {
    return 'none';
  }
}

/** The commands of git that undo what was written. */
export function undoCommand({ files, scripts }: InitWritten): string {
  const restore = scripts.length === 0 ? [] : ['git restore package.json'];
  const remove = files.length === 0 ? [] : [`git clean -f ${files.join(' ')}`];
  return [...restore, ...remove].join(' && ');
}
