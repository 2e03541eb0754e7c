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
  promise: 'no-loss',
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

test('what has moved into another file is found there, unless it is short or stands in two', () => {
  const moved = 'if (two > one) throw new Error(message);';
  write('src/b/c.ts', `${moved}\n`);
  expect(graft(root, entry('src/a.ts', moved))).toMatchObject({ path: 'src/b/c.ts', after: 'x\n' });
  expect(graft(root, entry('src/gone.ts', moved))).toMatchObject({ path: 'src/b/c.ts' });
  expect(graft(root, entry('src/a.ts', 'throw new Error(message)'))).toBe(
    'its text occurs 0 times in src/a.ts',
  );
  write('src/d.ts', `${moved}\n`);
  expect(graft(root, entry('src/a.ts', moved))).toBe('its text occurs 2 times in src/a.ts');
});

test('what was renamed is changed under its new name', () => {
  write('src/a.ts', 'for (const lane of lanes) if (lane.dueAt <= now) await drain(lane);\n');
  const written = entry('src/a.ts', 'if (lane.dueAt <= now) await empty(lane)');
  expect(graft(root, { ...written, replace: 'await empty(lane)' })).toMatchObject({
    after: 'for (const lane of lanes) await drain(lane);\n',
  });
});

test('a function is changed in its newest definition, within its body', () => {
  expect(graft(root, entry('outbox.f()', 'new'))).toMatchObject({
    path: 'prisma/migrations/2_outbox/migration.sql',
    after: 'create or replace function outbox.f(a text) language sql\nas $body$ select $$x$$ $body$;\n-- new',
  });
});
