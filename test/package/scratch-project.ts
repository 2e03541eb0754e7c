import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inject } from 'vitest';

/** How a program ended. */
interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Longest time of an installation; with npm's cache it takes seconds. */
export const installsWithinMs = 600_000;

/** What a program printed that was to succeed; else how it ended. */
export function printed({ code, stdout, stderr }: Ended): string {
  return code === 0 ? stdout : `exit ${code}: ${stdout}${stderr}`;
}

/** A project as others have it, outside of this repository, with the packed tarball installed. */
export interface ScratchProject {
  readonly folder: string;
  /** Runs Node in a folder of the project. */
  node(
    args: readonly string[],
    options?: { readonly env?: Readonly<Record<string, string>>; readonly within?: string },
  ): Promise<Ended>;
  remove(): Promise<void>;
}

/**
 * Copies a folder of `projects`, installs what its lock names, and then the tarball, by npm. Both come from npm's cache
 * where it has them.
 */
export async function scratchProject(name: string): Promise<ScratchProject> {
  const folder = await mkdtemp(path.join(tmpdir(), `temporal-outbox-${name}-`));
  await cp(path.join(import.meta.dirname, 'projects', name), folder, { recursive: true });
  if (existsSync(path.join(folder, 'package-lock.json'))) await npm(folder, 'ci');
  await npm(folder, 'install', '--no-save', inject('tarball'));
  return {
    folder,
    node: (args, { env = {}, within = '.' } = {}) =>
      execute(process.execPath, args, path.join(folder, within), env),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

async function npm(folder: string, ...args: readonly string[]): Promise<void> {
  const quick = ['--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { code, stderr } = await execute('npm', [...args, ...quick], folder, {});
  if (code !== 0) throw new Error(`npm ${args.join(' ')} failed in ${folder}:\n${stderr}`);
}

/** Without what vitest and npm have set for this run. */
function execute(
  command: string,
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<Ended> {
  const own = Object.entries(process.env).filter(
    ([name]) =>
      !/^(?:VITEST|NODE_(?:ENV|OPTIONS|PATH)|TEST$|npm_(?!config_(?:registry|cache|userconfig|globalconfig)$))/.test(
        name,
      ),
  );
  return new Promise((resolve) => {
    execFile(
      command,
      args,
      { cwd, env: { ...Object.fromEntries(own), ...env }, maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => {
        const code = typeof error?.code === 'number' ? error.code : 1;
        resolve({ code: error === null ? 0 : code, stdout, stderr });
      },
    );
  });
}
