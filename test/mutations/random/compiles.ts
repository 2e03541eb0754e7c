import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Planted, plant } from '../plant.ts';
import type { Mutant } from './mutant.ts';

/** The file with the mutant in it. */
export function planted(root: string, { path, start, end, replacement }: Mutant): Planted {
  const before = readFileSync(join(root, path), 'utf8');
  return { path, before, after: before.slice(0, start) + replacement + before.slice(end) };
}

/**
 * The mutants that the compiler accepts. It is asked about one of each file at a time, because it takes longer than many
 * a test; what it says about a file is said about the mutant in it.
 */
export function compiling(root: string, mutants: readonly Mutant[]): readonly Mutant[] {
  const refused = new Set<Mutant>();
  let left = mutants.filter(({ path }) => path.endsWith('.ts'));
  while (left.length > 0) {
    const round = new Map(left.map((mutant) => [mutant.path, mutant]));
    const undo = [...round.values()].map((mutant) => plant(root, planted(root, mutant), false));
    const { stdout } = spawnSync(
      process.execPath,
      [
        join(root, 'node_modules/typescript/lib/tsc.js'),
        '-p',
        'tsconfig.build.json',
        '--noEmit',
        '--pretty',
        'false',
      ],
      { cwd: root, encoding: 'utf8' },
    );
    for (const back of undo) back();
    for (const [, path = ''] of stdout.matchAll(/^(\S+?)\(\d+,\d+\): error/gm)) {
      const mutant = round.get(path);
      if (mutant !== undefined) refused.add(mutant);
    }
    const asked = new Set(round.values());
    left = left.filter((mutant) => !asked.has(mutant));
  }
  return mutants.filter((mutant) => !refused.has(mutant));
}
