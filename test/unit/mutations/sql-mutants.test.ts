import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { differenceOf } from '../../mutations/random/mutant.ts';
import { callersOf, sqlFunctions } from '../../mutations/random/sql-functions.ts';
import { sqlChanges } from '../../mutations/random/sql-operators.ts';

function changesOf(text: string): readonly string[] {
  return sqlChanges(text).map((change) => `${change.operator}: ${differenceOf(text, change).after}`);
}

test.each([
  ['select a where b = c', 'sql: = to <>: select a where b <> c'],
  ['select a where b < c', 'sql: < to <=: select a where b <= c'],
  ['select a where b and c', 'sql: and to or: select a where b or c'],
  ['select a where not b', 'sql: drop not: select a where  b'],
  ['select a where b is null', 'sql: is null to is not null: select a where b is not null'],
  ['select a where b is not null', 'sql: drop not: select a where b is null'],
  ['select max(a)', 'sql: max to min: select min(a)'],
  ['select least(a, b)', 'sql: least to greatest: select greatest(a, b)'],
  ['(select a order by b desc limit 5)', 'sql: drop order by: (select a  limit 5)'],
  ['(select a order by b desc limit 5)', 'sql: drop limit: (select a order by b desc )'],
  ['(select a limit 5)', 'sql: other number: (select a limit 6)'],
  ['select a for update of b skip locked;', 'sql: drop for update: select a ;'],
  ['select a for update of b skip locked;', 'sql: drop skip locked: select a for update of b ;'],
  ['perform f(a); x := 1;', 'sql: drop perform: null; x := 1;'],
  ['if exists (select a) then', 'sql: exists to not exists: if not exists (select a) then'],
])('%s: %s', (text, change) => {
  expect(changesOf(text)).toContain(change);
});

test.each([
  ['update t set a = b'],
  ['update t set a = case when b then c end, d = e'],
  ['x := y'],
  ['select $1, a1, b::text'],
  [`select 'a = 1 and not b' -- and or not 5`],
  [`select a ->> 'b'`],
  [`raise exception 'no % and', a or b`],
])('%s is left unchanged', (text) => {
  expect(changesOf(text)).toEqual([]);
});

test('the middle of a range is not its end', () => {
  expect(changesOf('where a between b and c')).toEqual([]);
});

test('a function is changed in its newest definition and tested by the files that call it', () => {
  const root = mkdtempSync(join(tmpdir(), 'temporal-outbox-sql-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const write = (folder: string, text: string): void => {
    mkdirSync(join(root, 'prisma/migrations', folder), { recursive: true });
    writeFileSync(join(root, 'prisma/migrations', folder, 'migration.sql'), text);
  };
  write(
    '1_first',
    'create function outbox.f(a text) language sql as $$ old $$;\n' +
      'create function outbox.g() as $$ select outbox.f(1) $$; create function outbox.h() as $$ select outbox.g() $$;',
  );
  write('2_next', 'create or replace function outbox.f(a text) language sql as $body$ new $body$;');

  const functions = sqlFunctions(root);

  expect(functions.map(({ name, text, start, end }) => [name, text.slice(start, end).trim()])).toEqual([
    ['outbox.f', 'new'],
    ['outbox.g', 'select outbox.f(1)'],
    ['outbox.h', 'select outbox.g()'],
  ]);
  expect([...callersOf(functions, 'outbox.f')]).toEqual(['outbox.f', 'outbox.g', 'outbox.h']);
});
