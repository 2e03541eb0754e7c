import { expect, test } from 'vitest';
import { choose } from '../../mutations/choose.ts';
import type { Mutation } from '../../mutations/mutation.ts';

const entry = (name: string, promise: Mutation['promise']): Mutation => ({
  name,
  promise,
  file: 'src/a.ts',
  find: 'a',
  replace: 'b',
  test: 'test/unit/a.test.ts',
});

const list = Array.from({ length: 50 }, (_, n) =>
  entry(`bug-${n}`, n < 25 ? 'no-loss' : 'duplicates-bounded'),
);
const names = (chosen: readonly Mutation[]) => chosen.map(({ name }) => name);

test('without a choice all bugs are planted', () => {
  expect(choose(list, {})).toEqual(list);
});

test('a part of a name or of a promise chooses the bugs that contain it', () => {
  expect(names(choose(list, { only: 'bug-4' }))).toHaveLength(11);
  expect(choose(list, { promise: 'I1' })).toHaveLength(25);
  expect(choose(list, { promise: 'i11' })).toHaveLength(25);
  expect(choose(list, { promise: 'no-loss' })).toHaveLength(25);
  expect(choose(list, { promise: 'I2' })).toEqual([]);
});

test('a rotation takes the requested number of bugs, the same ones for the same seed', () => {
  const eight = choose(list, { rotate: { count: 8, seed: 'one commit' } });
  expect(new Set(names(eight)).size).toBe(8);
  expect(choose(list, { rotate: { count: 8, seed: 'one commit' } })).toEqual(eight);
  expect(choose(list, { rotate: { count: 60, seed: 'one commit' } })).toEqual(list);
});

test('over many seeds every bug has its turn', () => {
  const seen = new Set<string>();
  for (let seed = 0; seed < 200; seed += 1)
    for (const name of names(choose(list, { rotate: { count: 8, seed: String(seed) } }))) seen.add(name);
  expect(seen.size).toBe(list.length);
});
