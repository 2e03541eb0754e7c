import { expect, test } from 'vitest';
import { keptStates, keptTransitions, openKeptStates } from '../../../src/core/parked-states.ts';

const exitsOf = (state: string) => keptTransitions.filter(({ from }) => from === state);

test('a change of state is listed once, leads elsewhere, and names who makes it', () => {
  const pairs = keptTransitions.map(({ from, to }) => `${from} → ${to}`);
  expect(new Set(pairs).size).toBe(pairs.length);
  for (const { from, to, by } of keptTransitions) {
    expect(from).not.toBe(to);
    expect(by).not.toBe('');
  }
});

test('every state can be reached from parked, and only open ones can be left', () => {
  const reached = new Set<string>(['parked']);
  // A set that grows while it is walked shows what was added, too.
  for (const state of reached) for (const { to } of exitsOf(state)) reached.add(to);
  expect(reached).toEqual(new Set(keptStates));
  expect(keptStates.filter((state) => exitsOf(state).length > 0)).toEqual([...openKeptStates]);
});
