import { expect, test } from 'vitest';
import { projectFiles, textOf } from './project-files.ts';

const page = textOf('docs/internal/invariants.md') ?? '';

/** The numbers that the page defines, in its order. */
const defined = [...page.matchAll(/^\| (?<number>[IF]\d+) \|/gm)].map(
  ({ groups }) => groups?.['number'] ?? '',
);

/** Those that have no test, and why. */
const reasons = [...page.matchAll(/^- (?<name>[IF]\d+): no test yet: (?<reason>.+)$/gm)].map(
  ({ groups }) => ({
    name: groups?.['name'] ?? '',
    reason: groups?.['reason'] ?? '',
  }),
);

/** An invariant, a fault, or a number of some other list, which could not be looked up. */
const number = /\b(?:I\d{1,2}|F\d{2}|hazard \d+)\b/g;

const files = projectFiles()
  .filter((path) => /\.(?:ts|mjs|sql|md)$/.test(path) && path !== 'test/unit/house/invariants.test.ts')
  .map((path) => ({ path, text: textOf(path) ?? '' }));

/** Numbers in the titles of tests, also of those that run once for each entry of a table. */
const inTitles = new Set(
  files
    .filter(({ path }) => path.endsWith('.test.ts'))
    .flatMap(({ text }) => [...text.matchAll(/^(?:test[^\n]*\(|[\])][^\n'`]*\()\s*['`](?<title>[^'`\n]+)/gm)])
    .flatMap(({ groups }) => groups?.['title']?.match(number) ?? []),
);

test('every invariant and fault that code, tests and documents name is defined in docs/internal/invariants.md', () => {
  const unknown = files.flatMap(({ path, text }) =>
    (text.match(number) ?? []).filter((each) => !defined.includes(each)).map((each) => `${path}: ${each}`),
  );
  expect(unknown).toEqual([]);
});

test('every invariant and fault of docs/internal/invariants.md is named by the title of a test, or is untested for a reason', () => {
  expect(defined).toContain('I1');
  expect(defined).toContain('F01');
  const untested = new Set(reasons.map(({ name }) => name));
  expect(defined.filter((each) => !inTitles.has(each) && !untested.has(each))).toEqual([]);
  expect(reasons.filter(({ name, reason }) => inTitles.has(name) || reason.length < 20)).toEqual([]);
});

test('the numbers of docs/internal/invariants.md have no gap', () => {
  const of = (letter: string) => defined.filter((each) => each.startsWith(letter));
  expect(of('I')).toEqual(of('I').map((_, n) => `I${n + 1}`));
  expect(of('F')).toEqual(of('F').map((_, n) => `F${String(n + 1).padStart(2, '0')}`));
});

test('docs/internal/invariants.md defines each number once', () => {
  expect(defined).toEqual([...new Set(defined)]);
});
