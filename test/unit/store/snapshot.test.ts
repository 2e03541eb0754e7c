import { expect, test } from 'vitest';
import { shows } from '../../../src/store/database/snapshot.ts';

test.each([
  ['100:100:', '99', true],
  ['100:100:', '100', false],
  ['100:105:100,103', '99,101,104', true],
  ['100:105:100,103', '101,103', false],
  ['100:105:100,103', '105', false],
  // Not by their texts.
  ['99:1000:', '998', true],
  ['99:1000:', '9999', false],
  ['99:18446744073709551615:', '18446744073709551614', true],
])('the snapshot %s shows what %s committed: %s', (snapshot, xids, shown) => {
  expect(shows(snapshot, xids)).toBe(shown);
});
