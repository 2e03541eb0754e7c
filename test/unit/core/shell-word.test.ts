import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { shellWord } from '../../../src/core/shell-word.ts';

test.each([
  'billing',
  'a.b-c_d:e/f@g',
  'a; rm -rf ~',
  `it's`,
  '$(id) `id` "$HOME" \\',
  '*',
  '~',
  '=x',
  '#',
  '🂡 é',
  '',
])('a shell reads the word of "%s" as that name', (name) => {
  expect(execFileSync('sh', ['-c', `printf %s ${shellWord(name)}`]).toString()).toBe(name);
});

test('a simple name stays as it is, and control characters are never entered', () => {
  expect(shellWord('billing-2')).toBe('billing-2');
  expect(shellWord('a\nrm -rf ~\u001b[2J')).toBe(`'a?rm -rf ~?[2J'`);
});
