import { expect, test } from 'vitest';
import { finalStates, states, transitions } from '../../../src/core/transitions.ts';

const exitsOf = (state: string) => transitions.filter(({ from }) => from === state);

test('a transition is listed once, leads elsewhere, and names who makes it', () => {
  const pairs = transitions.map(({ from, to }) => `${from} → ${to}`);
  expect(new Set(pairs).size).toBe(pairs.length);
  for (const { from, to, by } of transitions) {
    expect(from).not.toBe(to);
    expect(by).not.toBe('');
  }
});

test('every state can be reached from ready or waiting', () => {
  const reached = new Set<string>(['ready', 'waiting']);
  // A set that grows while it is walked shows what was added, too.
  for (const state of reached) for (const { to } of exitsOf(state)) reached.add(to);
  expect(reached).toEqual(new Set(states));
});

test('a state that is not final can be left, and one that cannot be left is final', () => {
  const stuck = states.filter((state) => exitsOf(state).length === 0);
  expect(stuck.filter((state) => !finalStates.has(state))).toEqual([]);
});

test('nothing leaves canceled, confirmed, superseded and discarded', () => {
  const ends = states.filter((state) => exitsOf(state).length === 0);
  expect(ends.toSorted()).toEqual(['canceled', 'confirmed', 'discarded', 'superseded']);
});

test('nothing that was published or failed can become canceled', () => {
  const from = transitions.filter(({ to }) => to === 'canceled').map((transition) => transition.from);
  expect(from.toSorted()).toEqual(['blocked', 'ready', 'retrying', 'waiting']);
});
