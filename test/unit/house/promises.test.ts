import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { proofsPage, taggedTests } from '../../../tools/proofs-page.mjs';
import { promises } from '../../promises.ts';
import { projectRoot } from './project-files.ts';

const folder = join(projectRoot, 'test');
const tests = taggedTests(folder).map((found) => ({
  ...found,
  path: found.path.slice(projectRoot.length + 1),
}));

test('docs/internal/proofs.md names the tests of each promise', () => {
  const page = readFileSync(join(projectRoot, 'docs/internal/proofs.md'), 'utf8');
  expect(page, 'Where the change is meant: `npm run generated -- proofs`.').toBe(proofsPage(promises, tests));
});

test('every promise has a test', () => {
  const shown = new Set(tests.flatMap(({ tags }) => tags));
  expect(Object.keys(promises).filter((tag) => !shown.has(tag))).toEqual([]);
});

test('every tag in a test file is on the page', () => {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.test.ts'),
  );
  const written = files.flatMap(
    (name) => readFileSync(join(folder, name), 'utf8').match(/\btags: \[|^\/\/ @module-tag /gm) ?? [],
  );
  expect(written.length).toBeGreaterThan(600);
  expect(tests.filter(({ path }) => path.endsWith('.test.ts'))).toHaveLength(written.length);
});
