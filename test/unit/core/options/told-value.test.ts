import { expect, test } from 'vitest';
import { toldValue } from '../../../../src/core/options/told-value.ts';

test.for([7, -1, 0.5, Number.NaN, true, '7', '10 parsecs', '1h', '-5s'])('%s is repeated', (value) => {
  expect(toldValue(value)).toEqual({ value });
});

test.for([
  '',
  's3cret',
  '1s3cret!',
  'a@b',
  '1 a 2',
  '12345678901234567890abcdefghijklm',
  null,
  undefined,
  ['a'],
  { a: 1 },
])('%s is not repeated, because it may be a secret', (value) => {
  expect(toldValue(value)).toEqual({});
});
