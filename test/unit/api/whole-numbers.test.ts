import { expect, test } from 'vitest';
import { page, wholeFrom } from '../../../src/api/schemas/values.ts';

test.for(['0x10', '1e2', ' 5', '5 ', '+5', '-1', '1.0', '', '0b1', 'Infinity', '0', '201'])(
  'the limit "%s" of a page is refused',
  (text) => {
    expect(page.limit.safeParse(text).success).toBe(false);
  },
);

test('digits are a limit, and none is where it may be', () => {
  expect(page.limit.parse('200')).toBe(200);
  expect(wholeFrom(0).parse('0')).toBe(0);
});
