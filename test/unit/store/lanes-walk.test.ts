import { expect, test } from 'vitest';
import { type State, transitions } from '../../../src/core/transitions.ts';
import { walkedStates } from '../../../src/store/lane/lanes-walk.ts';

test('a message of a topic that is not delivered changes only into a state that a change of lanes walks over later', {
  tags: ['abandoned-lanes-completed'],
}, () => {
  const order: readonly State[] = [...walkedStates, 'ready'];
  const met = transitions.filter(
    ({ from, to }) => order.includes(from) && order.includes(to) && from !== 'ready',
  );
  expect(met.length).toBeGreaterThan(5);
  for (const { from, to } of met)
    expect([from, to, order.indexOf(from) < order.indexOf(to)]).toEqual([from, to, true]);
});
