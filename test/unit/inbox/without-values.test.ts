import { expect, test } from 'vitest';
import { withoutValues } from '../../../src/inbox/reading/without-values.ts';

const long = 'a long and confidential text';

test.for([
  ['a text', 'got "secret"', { n: 'secret' }, 'got "…"'],
  ['a text in a list', 'got secret!', [[{ n: 'secret' }]], 'got …!'],
  ['each time', 'secret, secret and secret', 'secret', '…, … and …'],
  ['a number', 'got 42', { n: 42 }, 'got …'],
  ['a text shown as JSON', String.raw`got "a\"b"`, 'a"b', 'got "…"'],
  ['the beginning of a long text', `got "${long.slice(0, 25)}…"`, long, 'got "……"'],
  ['a long text inside a word', `got_${long}s`, long, 'got_…s'],
  ['a character of a text', 'got {', '{', 'got …'],
] as const)('%s of the payload is replaced', ([, text, payload, expected]) => {
  expect(withoutValues([text], payload)).toEqual([expected]);
});

test.for([
  ['names of fields', 'secret: got text', { secret: 'x' }],
  ['pieces of words', 'expected number', { a: 'umb', b: 'ected', c: 'num' }],
  ['pieces of numbers', 'at most 100', { n: 10 }],
  ['texts that are not in the payload', 'expected "a" or "b"', { n: 'c', empty: '', no: null, yes: true }],
] as const)('%s are unchanged', ([, text, payload]) => {
  expect(withoutValues([text], payload)).toEqual([text]);
});

test('each of several texts is checked', () => {
  expect(withoutValues(['got a', 'fine', 'got b'], ['a', 'b'])).toEqual(['got …', 'fine', 'got …']);
});

test('a payload may be deeply nested or contain itself', () => {
  let deep: unknown = 'secret';
  for (let level = 0; level < 100_000; level += 1) deep = [deep];
  const cyclic: Record<string, unknown> = { n: 'secret' };
  cyclic['self'] = cyclic;

  expect(withoutValues(['got secret'], deep)).toEqual(['got …']);
  expect(withoutValues(['got secret'], cyclic)).toEqual(['got …']);
});

test('a text that lists a whole payload is cut, and a value at the cut is not quoted either', () => {
  for (const value of ['secret', `secret ${'x'.repeat(50)}`]) {
    for (let length = 380; length < 430; length += 1) {
      const [text] = withoutValues([`${'.'.repeat(length)} ${value} ${'.'.repeat(1_000_000)}`], [value]);

      expect(text).not.toMatch(/sec/);
      expect(text?.length).toBeLessThan(430);
    }
  }
});
