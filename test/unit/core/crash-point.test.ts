import { expect, test } from 'vitest';
import { crashPoints, passCrashPoint, setTrap } from '../../../src/core/crash-point.ts';

test('a trap is called at every pass of its point, and of no other, until it is removed', () => {
  const passed: string[] = [];
  const remove = setTrap('relay:claimed', () => passed.push('relay:claimed'));
  for (const point of crashPoints) passCrashPoint(point);
  passCrashPoint('relay:claimed');
  remove();
  passCrashPoint('relay:claimed');

  expect(passed).toEqual(['relay:claimed', 'relay:claimed']);
});
