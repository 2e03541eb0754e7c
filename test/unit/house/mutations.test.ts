import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mutations } from '../../mutations/list.ts';
import { graft } from '../../mutations/plant.ts';
import { projectRoot } from './project-files.ts';

const read = (path: string): string => readFileSync(join(projectRoot, path), 'utf8');

const page = read('docs/internal/proofs.md');

/** The bold words of each item of the page, which may continue in the next line. */
const promises = [...page.matchAll(/^- \*\*(?<words>[^*]+?)\.?\*\*/gm)].map(({ groups }) =>
  (groups?.['words'] ?? '').replaceAll(/\s+/g, ' '),
);

test('every promise has a bug in the list of test/mutations that breaks it', () => {
  expect(promises).toHaveLength(page.match(/^- /gm)?.length ?? 0);
  const broken = new Set(mutations.map(({ promise }) => promise));
  expect(promises.filter((promise) => !broken.has(promise))).toEqual([]);
  expect([...broken].filter((promise) => !promises.includes(promise))).toEqual([]);
});

test('every bug of the list has a unique name', () => {
  const names = mutations.map(({ name }) => name);
  expect(names.filter((name) => !/^[a-z0-9-]{3,46}$/.test(name))).toEqual([]);
  expect(names).toEqual([...new Set(names)]);
});

test.each(mutations)('the bug $name can be planted, and its test exists', (mutation) => {
  const planted = graft(projectRoot, mutation);
  expect(typeof planted === 'string' ? planted : 'fits').toBe('fits');
  expect(existsSync(join(projectRoot, mutation.test))).toBe(true);
  expect(read(mutation.test).includes(mutation.title ?? '')).toBe(true);
  // The runner compares the values that replace them in the title.
  expect(mutation.title ?? '').not.toMatch(/[%$]/);
});
