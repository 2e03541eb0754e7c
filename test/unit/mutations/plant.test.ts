import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Mutation } from '../../mutations/mutation.ts';
import { graft, plant } from '../../mutations/plant.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'temporal-outbox-plant-'));
  write('src/a.ts', 'const one = 1;\nconst two = 2;\n');
  write(
    'prisma/migrations/1_outbox/migration.sql',
    'create function outbox.f(a text) as $$ select old $$;\ncreate function outbox.f_of() as $$ select old $$;',
  );
  write(
    'prisma/migrations/2_outbox/migration.sql',
    'create or replace function outbox.f(a text) language sql\nas $body$ select $$new$$ $body$;\n-- new',
  );
});
afterEach(() => rmSync(root, { recursive: true }));

function write(path: string, text: string): void {
  mkdirSync(join(root, path, '..'), { recursive: true });
  writeFileSync(join(root, path), text);
}

const entry = (file: string, find: string): Mutation => ({
  name: 'a-bug',
  promise: 'p',
  file,
  find,
  replace: 'x',
  test: 'test/unit/a.test.ts',
});

test('a text that occurs once is replaced and put back', () => {
  const planted = graft(root, entry('src/a.ts', 'const two'));
  if (typeof planted === 'string') throw new Error(planted);
  const undo = plant(root, planted, false);
  expect(readFileSync(join(root, 'src/a.ts'), 'utf8')).toBe('const one = 1;\nx = 2;\n');
  undo();
  expect(readFileSync(join(root, 'src/a.ts'), 'utf8')).toBe('const one = 1;\nconst two = 2;\n');
});

test('a program that is built in the moment of the bug is older than it', () => {
  const planted = graft(root, entry('src/a.ts', 'const two'));
  if (typeof planted === 'string') throw new Error(planted);
  const changedAtMs = () => statSync(join(root, 'src/a.ts')).mtimeMs;
  const undo = plant(root, planted, true);
  const aheadMs = changedAtMs() - Date.now();
  expect(aheadMs).toBeGreaterThan(100);
  expect(aheadMs, 'less than a build takes').toBeLessThan(2_000);
  undo();
  expect(changedAtMs(), 'nobody builds what has been built').toBeLessThan(Date.now() - 60_000);
});

test.each([
  ['src/a.ts', 'const three', 'its text occurs 0 times in src/a.ts'],
  ['src/a.ts', 'const', 'its text occurs 2 times in src/a.ts'],
  ['src/b.ts', 'const', 'src/b.ts does not exist'],
  ['outbox.g()', 'old', 'outbox.g() does not exist'],
  ['outbox.f()', 'old', 'its text occurs 0 times in outbox.f()'],
])('an entry for %s that looks for "%s" is stale: %s', (file, find, why) => {
  expect(graft(root, entry(file, find))).toBe(why);
});

test('a function is changed in its newest definition, within its body', () => {
  expect(graft(root, entry('outbox.f()', 'new'))).toMatchObject({
    path: 'prisma/migrations/2_outbox/migration.sql',
    after: 'create or replace function outbox.f(a text) language sql\nas $body$ select $$x$$ $body$;\n-- new',
  });
});
