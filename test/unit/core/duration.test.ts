import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Duration, durationMs } from '../../../src/core/duration.ts';

test.each<[Duration, number]>([
  [0, 0],
  [1_500, 1_500],
  [-1, -1],
  ['250ms', 250],
  ['10s', 10_000],
  ['15 minutes', 900_000],
  ['1.5h', 5_400_000],
  ['24h', 86_400_000],
  ['30 days', 2_592_000_000],
  ['400 days', 34_560_000_000],
  ['1w', 604_800_000],
  ['-3 min', -180_000],
])('%s is %d ms', (duration, expected) => {
  expect(durationMs(duration)).toBe(expected);
});

test.each([
  '',
  ' ',
  'soon',
  '10 parsecs',
  '1 month and a day',
  '10s 5s',
  `${'9'.repeat(101)}s`,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  null,
  {},
  10n,
])('%s is not a duration', (duration) => {
  expect(durationMs(duration as Duration)).toBeUndefined();
});

test('a whole number of any unit is as many of its milliseconds', () => {
  const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
  const unit = fc.constantFrom(...(Object.keys(units) as (keyof typeof units)[]));
  fc.assert(
    fc.property(
      fc.integer({ min: -1_000_000, max: 1_000_000 }),
      unit,
      fc.boolean(),
      (count, name, spaced) => {
        const text = `${count}${spaced ? ' ' : ''}${name}` as Duration;
        expect(durationMs(text)).toBe(count * units[name]);
      },
    ),
  );
});

test('any input gives a finite number or nothing, and never an error', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.double(), fc.anything()), (value) => {
      const answer = durationMs(value as Duration);
      expect(answer === undefined || Number.isFinite(answer)).toBe(true);
    }),
  );
});
