import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Mutant } from './mutant.ts';
import { callersOf, type SqlFunction } from './sql-functions.ts';

/** What a test file executes of `src`, as `note-executed.ts` has written it. */
export interface Executed {
  readonly test: string;
  readonly ms: number;
  /** Lines that ran, by file. */
  readonly lines: Readonly<Record<string, readonly number[]>>;
}

/** These read sources as texts, so that any change is red. */
const comparesTexts = /^test\/unit\/(?:house|mutations)\/|\/migrate\.test/;

/** Of the tests that this repository has: other copies of it may have noted theirs in the same folder. */
export function readExecuted(root: string, folder: string): readonly Executed[] {
  return notesIn(folder).filter(({ test }) => !comparesTexts.test(test) && existsSync(join(root, test)));
}

/**
 * The tests without servers of which it is not known what they execute: nothing was noted yet, or the test or something that
 * it executes was written since.
 */
export function unnotedUnitTests(root: string, folder: string): readonly string[] {
  const noted = new Set(notesIn(folder).flatMap((note) => (isStale(root, note) ? [] : [note.test])));
  return readdirSync(join(root, 'test/unit'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => `test/unit/${name}`)
    .filter((test) => !noted.has(test));
}

interface Note extends Executed {
  readonly writtenMs: number;
}

function notesIn(folder: string): readonly Note[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => {
      const path = join(folder, name);
      const note = JSON.parse(readFileSync(path, 'utf8')) as Executed;
      return { ...note, writtenMs: statSync(path).mtimeMs };
    });
}

/** Lines of a file that was written since may be those of other statements. */
function isStale(root: string, { test, lines, writtenMs }: Note): boolean {
  return [test, ...Object.keys(lines)].some((path) => {
    const file = statSync(join(root, path), { throwIfNoEntry: false });
    return file === undefined || file.mtimeMs > writtenMs;
  });
}

/** The sources of a repository, as far as a choice of tests asks for them. */
export interface Sources {
  /** Lines of the bodies of functions of a file. */
  functionLines(path: string): ReadonlySet<number>;
  readonly sqlFunctions: readonly SqlFunction[];
  /** Path and text of every file with statements. */
  readonly store: readonly (readonly [path: string, text: string])[];
}

/** The test files that execute the statement of a mutant: first those without servers, then those that execute little else. */
export function testsOf(mutant: Mutant, executed: readonly Executed[], sources: Sources): readonly string[] {
  const runs =
    mutant.sqlFunction === undefined
      ? runsStatement(mutant, sources)
      : callsFunction(mutant.sqlFunction, sources);
  // Without a server no SQL is executed, and a script of answers finds a statement by its text.
  const asks = mutant.sqlFunction !== undefined || mutant.operator.startsWith('sql:');
  const size = ({ lines }: Executed): number =>
    Object.values(lines).reduce((sum, several) => sum + several.length, 0);
  return executed
    .filter((one) => !(asks && isUnit(one.test)) && runs(one))
    .toSorted((a, b) => Number(isUnit(b.test)) - Number(isUnit(a.test)) || size(a) - size(b))
    .map(({ test }) => test);
}

export function isUnit(test: string): boolean {
  return test.startsWith('test/unit/');
}

/** What is executed when the file is loaded matters to those who call its functions. */
function runsStatement({ path, statement, inFunction }: Mutant, sources: Sources) {
  const wanted = inFunction ? new Set([statement]) : sources.functionLines(path);
  return ({ lines }: Executed): boolean => (lines[path] ?? []).some((line) => wanted.has(line));
}

/** Tests that execute a file of the store that names the function, or one that calls it. */
function callsFunction(name: string, sources: Sources) {
  const calls = [...callersOf(sources.sqlFunctions, name)].map((caller) => `${caller}(`);
  const callers = sources.store.flatMap(([path, text]) =>
    calls.some((call) => text.includes(call)) ? [[path, sources.functionLines(path)] as const] : [],
  );
  return ({ lines }: Executed): boolean =>
    callers.some(([path, wanted]) => (lines[path] ?? []).some((line) => wanted.has(line)));
}
