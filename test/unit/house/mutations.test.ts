import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mutations } from '../../mutations/list.ts';
import { graft } from '../../mutations/plant.ts';
import { promises } from '../../promises.ts';
import { projectRoot } from './project-files.ts';

const read = (path: string): string => readFileSync(join(projectRoot, path), 'utf8');

test('every promise has a bug in the list of test/mutations that breaks it', () => {
  const broken = new Set<string>(mutations.map(({ promise }) => promise));
  expect(Object.keys(promises).filter((tag) => !broken.has(tag))).toEqual([]);
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
