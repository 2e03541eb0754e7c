import { expect, test } from 'vitest';
import { DueEdge } from '../../../src/store/lane/due-edge.ts';

const early = '2026-01-01 00:00:00+00';
const later = '2026-01-01 00:00:10+00';

test('the first walk begins at the start, and those of the next second where the last one ended', () => {
  const edge = new DueEdge();
  expect(edge.from(0)).toBeNull();

  edge.walked(null, early, 0, 2);
  expect(edge.from(3)).toBe(early);
  edge.walked(early, later, 3, 4);

  expect(edge.from(1_001)).toBe(later);
  expect(edge.from(1_002)).toBeNull();
});

test('a walk from the start that took long is made less often', () => {
  const edge = new DueEdge();
  edge.walked(null, early, 0, 500);

  expect(edge.from(10_499)).toBe(early);
  expect(edge.from(10_500)).toBeNull();
});
