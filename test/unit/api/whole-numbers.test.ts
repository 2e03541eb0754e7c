import { expect, test } from 'vitest';
import { ofTexts, readInputs } from '../../../src/api/read-inputs.ts';
import { entries, page } from '../../../src/operations/inputs/values.ts';

const inputs = ofTexts({ limit: page.limit, last: entries(0) });
const read = (given: object) => readInputs('query parameter', inputs, given);

test.for(['0x10', '1e2', ' 5', '5 ', '+5', '-1', '1.0', '', '0b1', 'Infinity', '0', '201'])(
  'the limit "%s" of a page is refused',
  (text) => {
    expect(() => read({ limit: text })).toThrow('"limit" must be a whole number from 1 to 200');
  },
);

test('digits are a limit, and none is where it may be', () => {
  expect(read({ limit: '200' })).toEqual({ limit: 200 });
  expect(read({ last: '0' })).toEqual({ last: 0 });
  expect(read({})).toEqual({});
});
