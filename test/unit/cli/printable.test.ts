import { afterEach, expect, test, vi } from 'vitest';
import { clip, printable, screenColumns } from '../../../src/cli/printable.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});

/** As if standard output were a terminal of this width, or none. */
function terminal(columns?: number): void {
  vi.stubEnv('COLUMNS', undefined);
  const isTTY = columns !== undefined;
  vi.stubGlobal('process', Object.create(process, { stdout: { value: { isTTY, columns } } }));
}

test('control characters and text directions are shown, not executed', () => {
  expect(printable('a\u001b[31mb\r\nc\u0085\u202ed\u2028')).toBe(
    'a\\u001b[31mb\\u000d\\u000ac\\u0085\\u202ed\\u2028',
  );
  expect(printable('Grüße, 你好')).toBe('Grüße, 你好');
});

test('a cut text is marked, and none exceeds the limit', () => {
  expect(clip('abcdef', 6)).toBe('abcdef');
  expect(clip('abcdefg', 6)).toBe('abcde…');
  expect(clip('\u0007\u0007', 6)).toBe('\\u000…');
});

test('a line is as wide as the terminal or the environment allows, and nothing is cut without a terminal', () => {
  terminal(120);
  expect(screenColumns()).toBe(120);
  vi.stubEnv('COLUMNS', '40');
  expect(screenColumns()).toBe(40);
  terminal();
  expect(screenColumns()).toBe(Number.POSITIVE_INFINITY);
  expect(clip('abcdefg', 6)).toBe('abcdefg');
});
