import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { linkPackages } from '../../mutations/scratch.ts';

test('a copy finds the packages of the original, and those that replace some of them', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'outbox-links-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const packages = [
    'original/.bin',
    'original/@one/a',
    'original/@one/b',
    'original/two',
    'newer/b',
    'newer/c',
  ];
  for (const name of packages) {
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, 'index.js'), '');
  }
  const replaced = { '@one/b': join(folder, 'newer/b'), '@three/c': join(folder, 'newer/c') };
  linkPackages(join(folder, 'original'), join(folder, 'copy/node_modules'), replaced);
  const { resolve } = createRequire(join(folder, 'copy/program.js'));
  expect(['@one/a', '@one/b', 'two', '@three/c'].map((name) => resolve(name))).toEqual(
    ['original/@one/a', 'newer/b', 'original/two', 'newer/c'].map((name) => join(folder, name, 'index.js')),
  );
  expect(readdirSync(join(folder, 'copy/node_modules/.bin'))).toEqual(['index.js']);
});
