import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { acceptedFor } from '../accepted.ts';
import { plant } from '../plant.ts';
import { runFiles } from '../run-tests.ts';
import { judge, type Verdict } from '../verdict.ts';
import { compiling, planted } from './compiles.ts';
import { type Executed, isUnit, type Sources, testsOf } from './executed.ts';
import { type Difference, differenceOf, type Mutant } from './mutant.ts';
import { sqlFunctions } from './sql-functions.ts';
import { functionLines } from './typescript-places.ts';

/** What came of a mutant. `uncovered`: no test is known to execute it; `accepted`: it may survive, as test/mutations/accepted.ts says. */
export interface Tried extends Difference {
  readonly path: string;
  readonly line: number;
  readonly operator: string;
  readonly kind: 'caught' | 'timed out' | 'survived' | 'uncovered' | 'accepted';
  readonly said: string;
  /** The test files that were run, of those that execute it. */
  readonly tests: readonly string[];
  readonly of: number;
  readonly seconds: number;
}

/** How mutants are tried. */
export interface Trial {
  /** A copy of the repository that may be broken. */
  readonly root: string;
  readonly servers: Readonly<Record<string, string>>;
  readonly executed: readonly Executed[];
  /** Only by tests without servers, and only mutants that these execute. */
  readonly unitOnly: boolean;
  readonly count: number;
  /** By `performance.now()`: no mutant is begun after it. */
  readonly deadline: number;
  readonly tell: (tried: Tried) => void;
}

/** So many test files are run for a mutant that stays green: after those without servers, first a few, then more. */
const helpings = [3, 6, 12];

/** A text that the database refuses to read was no bug that a test had to find. */
const refusedByDatabase =
  /syntax error|operator does not exist|must be type boolean|is not unique|cannot be cast/;

/** Tries mutants in their order until enough count. Those that do not compile or load do not. */
export async function tryMutants(mutants: readonly Mutant[], trial: Trial): Promise<readonly Tried[]> {
  const sources = sourcesOf(trial.root);
  const choose = (mutant: Mutant): readonly string[] =>
    testsOf(mutant, trial.executed, sources).filter((test) => !trial.unitOnly || isUnit(test));
  const able = trial.unitOnly ? mutants.filter((mutant) => choose(mutant).length > 0) : mutants;
  const tried: Tried[] = [];
  for (let from = 0; from < able.length && tried.length < trial.count; from += 2 * trial.count) {
    for (const mutant of compiling(trial.root, able.slice(from, from + 2 * trial.count))) {
      if (tried.length === trial.count || performance.now() > trial.deadline) return tried;
      const one = await tryOne(mutant, choose(mutant), trial);
      if (one === undefined) continue;
      tried.push(one);
      trial.tell(one);
    }
  }
  return tried;
}

/** @returns `undefined` for one that does not count */
async function tryOne(mutant: Mutant, tests: readonly string[], trial: Trial): Promise<Tried | undefined> {
  const { path, line, operator } = mutant;
  const startedAt = performance.now();
  const bug = planted(trial.root, mutant);
  const difference = differenceOf(bug.before, mutant);
  const run: string[] = [];
  const answer = (kind: Tried['kind'], said: string): Tried => {
    const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
    return { kind, path, line, operator, ...difference, said, tests: run, of: tests.length, seconds };
  };
  const accepted = acceptedFor(path, difference);
  if (accepted !== undefined) return answer('accepted', accepted);
  if (tests.length === 0) return answer('uncovered', 'no test is known to execute it');
  const undo = plant(trial.root, bug, false);
  try {
    for (const helping of helpingsOf(tests)) {
      run.push(...helping);
      const verdict = judge(await runFiles(trial.root, helping, trial.servers));
      if (verdict.kind === 'broken' || refusedByDatabase.test(verdict.said)) return undefined;
      if (verdict.kind !== 'survived') return answer(kindOf(verdict), verdict.said);
    }
    return answer('survived', 'every test was green');
  } finally {
    undo();
  }
}

function kindOf({ kind }: Verdict): Tried['kind'] {
  return kind === 'timed out' ? 'timed out' : 'caught';
}

function helpingsOf(tests: readonly string[]): readonly (readonly string[])[] {
  const units = tests.filter((test) => isUnit(test)).slice(0, 20);
  const others = tests.filter((test) => !isUnit(test));
  let at = 0;
  const cut = helpings.map((size) => others.slice(at, (at += size)));
  return [units, ...cut].filter((helping) => helping.length > 0);
}

function sourcesOf(root: string): Sources {
  const read = (path: string): string => readFileSync(join(root, path), 'utf8');
  const known = new Map<string, ReadonlySet<number>>();
  const store = readdirSync(join(root, 'src/store'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => [`src/store/${name}`, read(`src/store/${name}`)] as const);
  return {
    sqlFunctions: sqlFunctions(root),
    store,
    functionLines: (path) => {
      const lines = known.get(path) ?? functionLines(path, read(path));
      known.set(path, lines);
      return lines;
    },
  };
}
