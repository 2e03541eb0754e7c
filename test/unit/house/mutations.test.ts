import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mutations } from '../../mutations/list.ts';
import type { Mutation } from '../../mutations/mutation.ts';
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

test('every bug of the list can be planted, and its test exists', () => {
  expect(mutations.flatMap((mutation) => wrongWith(mutation))).toEqual([]);
});

function wrongWith(mutation: Mutation): readonly string[] {
  const { name, test: path, title = '' } = mutation;
  const planted = graft(projectRoot, mutation);
  if (typeof planted === 'string') return [`${name}: ${planted}`];
  if (!existsSync(join(projectRoot, path))) return [`${name}: ${path} does not exist`];
  if (!read(path).includes(title)) return [`${name}: ${path} has no "${title}"`];
  // The runner compares the values that replace them in the title.
  return /[%$]/.test(title) ? [`${name}: its title has % or $`] : [];
}
