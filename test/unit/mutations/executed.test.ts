import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  type Executed,
  readExecuted,
  type Sources,
  testsOf,
  unnotedUnitTests,
} from '../../mutations/random/executed.ts';
import { executedLines } from '../../mutations/random/executed-lines.ts';
import type { Mutant } from '../../mutations/random/mutant.ts';

test('lines ran if their innermost range was counted', () => {
  const mappings = 'AAAA;AACA;AACA;AACA;AACA';
  const map = { version: 3, sources: ['a.ts'], names: [], mappings };
  const inlined = `//# sourceMappingURL=data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString('base64')}`;
  const code = ['f();', 'function f() {', 'if (a)', 'b();', '}', inlined].join('\n');
  const at = (text: string): number => code.indexOf(text);
  const range = (from: string, to: string, count: number) => ({
    startOffset: at(from),
    endOffset: at(to) + to.length,
    count,
  });

  const lines = executedLines(code, [
    { ranges: [{ startOffset: 0, endOffset: code.length, count: 1 }] },
    { ranges: [range('function', '}', 2), range('b();', 'b();', 0)] },
  ]);

  expect(lines).toEqual([1, 2, 3, 5]);
});

test('lines ran if they were mapped to one line', () => {
  // The third part begins in the second line of the source, the fourth in the third.
  const map = { version: 3, sources: ['a.ts'], names: [], mappings: 'AAAA,YACC,OACC;AACA' };
  const inlined = `//# sourceMappingURL=data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString('base64')}`;
  const loop = 'for (of xs) if (a) b();';
  const code = [loop, 'c();', inlined].join('\n');
  const ranges = (count: number) => [
    { startOffset: 0, endOffset: code.length, count: 1 },
    { startOffset: 19, endOffset: loop.length, count },
  ];

  expect(executedLines(code, [{ ranges: ranges(1) }])).toEqual([1, 2, 3, 4]);
  expect(executedLines(code, [{ ranges: ranges(0) }])).toEqual([1, 2, 4]);
});

test('code without a map of its source has no lines', () => {
  expect(executedLines('f();', [{ ranges: [{ startOffset: 0, endOffset: 4, count: 1 }] }])).toEqual([]);
});

const executed: readonly Executed[] = [
  { test: 'test/integration/all.test.ts', ms: 1, lines: { 'src/a.ts': [1, 5, 6], 'src/store/s.ts': [2, 3] } },
  { test: 'test/integration/one.test.ts', ms: 1, lines: { 'src/a.ts': [1, 5] } },
  { test: 'test/unit/a.test.ts', ms: 1, lines: { 'src/a.ts': [1, 5, 6, 7, 8, 9, 10] } },
  { test: 'test/unit/loads.test.ts', ms: 1, lines: { 'src/a.ts': [1] } },
];

const sources: Sources = {
  functionLines: (path) => new Set(path === 'src/a.ts' ? [5, 6, 7] : [3]),
  sqlFunctions: [],
  store: [
    ['src/store/s.ts', 'select outbox.claim($1)'],
    ['src/store/t.ts', 'select outbox.settle($1)'],
  ],
};

const mutant = (change: Partial<Mutant>): Mutant => ({
  path: 'src/a.ts',
  operator: '',
  line: 5,
  statement: 5,
  inFunction: true,
  start: 0,
  end: 0,
  replacement: '',
  ...change,
});

test('tests without servers come first, then those that execute little', () => {
  expect(testsOf(mutant({}), executed, sources)).toEqual([
    'test/unit/a.test.ts',
    'test/integration/one.test.ts',
    'test/integration/all.test.ts',
  ]);
  expect(testsOf(mutant({ statement: 7 }), executed, sources)).toEqual(['test/unit/a.test.ts']);
  expect(testsOf(mutant({ path: 'src/b.ts' }), executed, sources)).toEqual([]);
});

test('SQL is tested by the files with a database', () => {
  expect(testsOf(mutant({ operator: 'sql: = to <>' }), executed, sources)).toEqual([
    'test/integration/one.test.ts',
    'test/integration/all.test.ts',
  ]);
});

test('code that runs when its file is loaded is tested by the files that call a function of it', () => {
  expect(testsOf(mutant({ statement: 1, inFunction: false }), executed, sources)).not.toContain(
    'test/unit/loads.test.ts',
  );
});

test('a function of the database is tested by the files that execute a statement with it', () => {
  const path = 'prisma/migrations/1/migration.sql';
  const scripted = { test: 'test/unit/scripted.test.ts', ms: 1, lines: { 'src/store/s.ts': [3] } };
  expect(
    testsOf(mutant({ path, sqlFunction: 'outbox.claim' }), [...executed, scripted], sources),
    'without a server there is no function',
  ).toEqual(['test/integration/all.test.ts']);
  expect(testsOf(mutant({ path, sqlFunction: 'outbox.settle' }), executed, sources)).toEqual([]);
});

test('new tests without servers are to be recorded, and records of tests of another copy are skipped', ({
  onTestFinished,
}) => {
  const root = mkdtempSync(join(tmpdir(), 'executed-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const notes = join(root, 'notes');
  mkdirSync(join(root, 'test/unit/inbox'), { recursive: true });
  for (const name of ['old', 'new']) writeFileSync(join(root, `test/unit/inbox/${name}.test.ts`), '');
  writeFileSync(join(root, 'test/unit/inbox/bench.ts'), '');
  const both = ['test/unit/inbox/new.test.ts', 'test/unit/inbox/old.test.ts'];
  expect(unnotedUnitTests(root, notes).toSorted()).toEqual(both);

  mkdirSync(notes);
  for (const name of ['old', 'elsewhere'])
    writeFileSync(
      join(notes, `${name}.json`),
      JSON.stringify({ test: `test/unit/inbox/${name}.test.ts`, ms: 1, lines: {} }),
    );

  expect(unnotedUnitTests(root, notes)).toEqual(['test/unit/inbox/new.test.ts']);
  expect(readExecuted(root, notes).map((one) => one.test)).toEqual(['test/unit/inbox/old.test.ts']);
});

test('what a test without servers executes is recorded again after a change of the test or of a file that it executes', ({
  onTestFinished,
}) => {
  const root = mkdtempSync(join(tmpdir(), 'executed-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const [notes, path, source] = ['notes', 'test/unit/a.test.ts', 'src/a.ts'];
  for (const folder of [notes, 'test/unit', 'src']) mkdirSync(join(root, folder), { recursive: true });
  const note = { test: path, ms: 1, lines: { [source]: [1] } };
  const later = new Date(Date.now() + 60_000);
  const write = (): void => {
    for (const name of [path, source]) writeFileSync(join(root, name), '');
    writeFileSync(join(root, notes, 'a.json'), JSON.stringify(note));
  };
  write();
  expect(unnotedUnitTests(root, join(root, notes))).toEqual([]);
  for (const changed of [path, source]) {
    write();
    utimesSync(join(root, changed), later, later);
    expect(unnotedUnitTests(root, join(root, notes)), changed).toEqual([path]);
  }
  write();
  rmSync(join(root, source));
  expect(unnotedUnitTests(root, join(root, notes))).toEqual([path]);
});
