import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { accepted, acceptedFor } from '../../mutations/accepted.ts';
import { plant } from '../../mutations/plant.ts';
import { planted } from '../../mutations/random/compiles.ts';
import { draw } from '../../mutations/random/draw.ts';
import { reportOf } from '../../mutations/random/tables.ts';
import type { Tried } from '../../mutations/random/try-mutants.ts';
import { typescriptMutants } from '../../mutations/random/typescript-places.ts';
import { projectRoot } from '../house/project-files.ts';

const text = 'export function f(a: number) {\n  if (a < 5) return g(a);\n  return 7;\n}\n';
const mutants = typescriptMutants('src/a.ts', text);

test('the same seed draws the same bugs, another one others, and at most one per statement', () => {
  expect(draw(mutants, 'one')).toEqual(draw(mutants, 'one'));
  const seeds = Array.from({ length: 20 }, (_, n) => JSON.stringify(draw(mutants, String(n))));
  expect(new Set(seeds).size).toBeGreaterThan(3);
  const statements = draw(mutants, 'one').map(({ statement }) => statement);
  expect(statements).toHaveLength(new Set(statements).size);
});

test('every bug is really planted and removed again', () => {
  const root = mkdtempSync(join(tmpdir(), 'temporal-outbox-random-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const file = join(root, 'src/a.ts');
  mkdirSync(dirname(file));
  writeFileSync(file, text);
  expect(mutants).toHaveLength(5);
  for (const mutant of mutants) {
    const undo = plant(root, planted(root, mutant), false);
    const bad = readFileSync(file, 'utf8');
    expect(bad).toBe(text.slice(0, mutant.start) + mutant.replacement + text.slice(mutant.end));
    expect(bad).not.toBe(text);
    undo();
    expect(readFileSync(file, 'utf8')).toBe(text);
  }
});

test('the report counts the bugs to be caught and shows the survivors', () => {
  const one = (kind: Tried['kind']): Tried => ({
    kind,
    path: 'src/relay/a.ts',
    line: 3,
    operator: 'drop await',
    before: 'await f();',
    after: 'f();',
    said: '',
    tests: ['test/unit/a.test.ts'],
    of: 2,
    seconds: 1,
  });
  const report = reportOf([one('caught'), one('caught'), one('survived'), one('accepted')], '42');
  expect(report).toContain('seed 42');
  expect(report).toMatch(
    /src\/relay +67 %: 2 of 3 caught, 0 only out of time, 1 survived, 0 not executed, 1 accepted/,
  );
  expect(report.split('SURVIVED')).toHaveLength(2);
  expect(report).toContain('    - await f();\n    + f();');
});

test.each(accepted)(
  'the accepted survivor in $path still exists: $before',
  ({ path, before, after, why }) => {
    const source = readFileSync(join(projectRoot, path), 'utf8');
    const drawn = typescriptMutants(path, source);
    expect(source).toContain(before);
    expect(before).not.toBe(after);
    expect(why).toMatch(/^[A-Z].+\.$/);
    expect(path.endsWith('.sql') || drawn.length > 0).toBe(true);
    expect(acceptedFor(path, { before, after })).toBe(why);
  },
);
