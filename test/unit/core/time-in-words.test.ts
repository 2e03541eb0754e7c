import { expect, test } from 'vitest';
import { timeInWords } from '../../../src/core/time-in-words.ts';

test.each([
  [0, '0 ms'],
  [999.4, '999 ms'],
  [1_000, '1 second'],
  [69_000, '1 minute 9 seconds'],
  [96_000, '1 minute 36 seconds'],
  [119_700, '2 minutes'],
  [3_599_900, '1 hour'],
  [5_430_000, '1 hour 31 minutes'],
  [14 * 86_400_000, '14 days'],
  [-90_000, '-1 minute 30 seconds'],
])('%d ms are %s', (lengthMs, words) => {
  expect(timeInWords(lengthMs)).toBe(words);
});
