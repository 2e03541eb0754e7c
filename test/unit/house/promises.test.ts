import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const root = new URL('../../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

/** Each piece of evidence on the page: `path of a test file`: "beginning of a test's name". */
const evidence = [
  ...read('docs/internal/proofs.md').matchAll(/^ +- `(?<path>[^`]+)`: "(?<name>[^"]+)"$/gm),
].map(({ groups }) => ({ path: groups?.['path'] ?? '', name: groups?.['name'] ?? '' }));

/** Every item of the list of promises, with the lines under it. */
const promises = read('docs/internal/proofs.md')
  .split(/^- \*\*/gm)
  .slice(1);

test('every promise names a test', () => {
  expect(promises.length).toBeGreaterThan(12);
  expect(promises.filter((promise) => !/^ +- `test\//m.test(promise))).toEqual([]);
});

test('every line of evidence is read by this test', () => {
  expect(evidence).toHaveLength(read('docs/internal/proofs.md').match(/^ +- `test\//gm)?.length ?? 0);
});

test.each(evidence)('$path has the test "$name"', ({ path, name }) => {
  expect(existsSync(new URL(path, root))).toBe(true);
  const names = [...read(path).matchAll(/['`](?<name>[^\n]+?)['`],?$|\(['`](?<first>[^\n]+?)['`]/gm)];
  expect(names.some(({ groups }) => (groups?.['name'] ?? groups?.['first'])?.includes(name))).toBe(true);
});
