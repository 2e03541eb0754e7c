import { expect, test } from 'vitest';
import { differenceOf } from '../../mutations/random/mutant.ts';
import { functionLines, typescriptMutants } from '../../mutations/random/typescript-places.ts';

/** The replacements of the text, by rule. */
function changesOf(text: string): readonly string[] {
  return typescriptMutants('src/a.ts', text).map(
    (mutant) => `${mutant.operator}: ${differenceOf(text, mutant).after}`,
  );
}

test.each([
  ['if (a) b();', 'negate a condition: if (!(a)) b();'],
  ['x = a ? 1 : 2;', 'negate a condition: x = !(a) ? 1 : 2;'],
  ['while (a) b();', 'negate a condition: while (!(a)) b();'],
  ['x = !a;', 'drop !: x = a;'],
  ['b();', 'drop a statement: {}'],
  ['throw problem;', 'drop a statement: {}'],
  ['for (;;) continue;', 'drop a statement: for (;;) {}'],
  ['function f() { return; }', 'drop a statement: function f() { {} }'],
  ['function f() { b(); }', 'return early: function f() { return; b(); }'],
  ['x = async () => await b();', 'drop await: x = async () => b();'],
  ['f(a, b, c);', 'swap arguments: f(b, a, c);'],
  ['x = a < b;', '< to <=: x = a <= b;'],
  ['x = a >= b;', '>= to >: x = a > b;'],
  ['x = a === b;', '=== to !==: x = a !== b;'],
  ['x = a + b;', '+ to -: x = a - b;'],
  ['x += a;', '+= to -=: x -= a;'],
  ['x ??= a;', '??= to =: x = a;'],
  ['x = a && b;', '&& to ||: x = a || b;'],
  ['x = a ?? b;', '?? to its left: x = a;'],
  ['x = a ?? b;', '?? to its right: x = b;'],
  ['x = true;', 'other boolean: x = false;'],
  ['x = 0;', 'other number: x = 1;'],
  ['x = 1;', 'other number: x = 0;'],
  ['x = 10_000;', 'other number: x = 100000;'],
  [`x = 'blocked';`, `empty string: x = '';`],
  ['x = a.some(b);', 'call every: x = a.every(b);'],
  ['x = Math.min(a, b);', 'call max: x = Math.max(a, b);'],
])('%s: %s', (text, change) => {
  expect(changesOf(text)).toContain(change);
});

test.each([
  ['x = Math.max(a, b);', 'swap arguments'],
  ['function f() {}', 'return early'],
  ['function f() { }', 'return early'],
])('a change without a difference is left out: %s', (text, operator) => {
  expect(changesOf(text).filter((change) => change.startsWith(operator))).toEqual([]);
});

test('statements within strings are changed, too', () => {
  expect(changesOf('x = sql(`select a from b order by a for update`, [c]);')).toEqual(
    expect.arrayContaining([
      'sql: drop order by: x = sql(`select a from b  for update`, [c]);',
      'sql: drop for update: x = sql(`select a from b order by a `, [c]);',
    ]),
  );
});

test.each([
  [`import { a } from 'a';`],
  [`export { a } from 'a';`],
  [`type A = 'a' | 1;`],
  [`interface A { readonly a: 'a' | true }`],
  [`let x: 'a' | 1;`],
])('types and imports are left unchanged: %s', (text) => {
  expect(changesOf(text)).toEqual([]);
});

test.each<[string, string[]]>([
  [`throw new OutboxError('OUTBOX_X', 'Nothing of it.', { a: 1 });`, ['drop a statement: {}']],
  [`x = { reason: 'gone', hint: a ?? 'b' };`, ['drop a statement: {}']],
  [`x = 'Several words for people.';`, ['drop a statement: {}']],
  [`x = { 'a-b': y };`, ['drop a statement: {}']],
  [`passCrashPoint('inbox:parked');`, []],
])('texts for people, and the place where tests end a process, are left unchanged: %s', (text, left) => {
  expect(changesOf(text)).toEqual(left);
});

test('a mutant has the start of its statement, and whether a call executes it', () => {
  const text = 'const limit = 5;\nfunction f() {\n  call(\n    one,\n    2,\n  );\n}\n';
  const numbers = typescriptMutants('src/a.ts', text).filter(({ operator }) => operator === 'other number');
  // The limit is a choice, and another one no bug.
  expect(changesOf('const hourMs = 60 * 60_000;')).toEqual([]);
  expect(numbers).toMatchObject([{ line: 5, statement: 3, inFunction: true, path: 'src/a.ts' }]);
  const [outside] = typescriptMutants('src/a.ts', 'call(x);');
  expect(outside).toMatchObject({ line: 1, statement: 1, inFunction: false });
  expect([...functionLines('src/a.ts', text)]).toEqual([2, 3, 4, 5, 6, 7]);
});
