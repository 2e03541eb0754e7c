import { expect, test } from 'vitest';
import { clip, printable } from '../../../src/cli/printable.ts';

test('control characters and directions of text are shown, not done', () => {
  expect(printable('a\u001b[31mb\r\nc\u0085\u202ed\u2028')).toBe(
    'a\\u001b[31mb\\u000d\\u000ac\\u0085\\u202ed\\u2028',
  );
  expect(printable('Grüße, 你好')).toBe('Grüße, 你好');
});

test('a text that is cut says so, and none is wider than it may be', () => {
  expect(clip('abcdef', 6)).toBe('abcdef');
  expect(clip('abcdefg', 6)).toBe('abcde…');
  expect(clip('\u0007\u0007', 6)).toBe('\\u000…');
});
