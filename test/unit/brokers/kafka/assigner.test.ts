import { expect, test } from 'vitest';
import { assign, type Wanting } from '../../../../src/brokers/kafka/source/assigner.ts';

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, n) => n);
const wanting = (memberId: string, ...topics: readonly string[]): Wanting => ({ memberId, topics });

test('if all members handle the same topics, partitions are assigned as by kafkajs', () => {
  const members = [wanting('c', 'x', 'y'), wanting('a', 'x', 'y'), wanting('b', 'x', 'y')];
  const partitions = new Map([
    ['x', numbers(4)],
    ['y', numbers(3)],
  ]);
  expect(Object.fromEntries(assign(members, partitions))).toEqual({
    a: { x: [0, 3], y: [2] },
    b: { x: [1], y: [0] },
    c: { x: [2], y: [1] },
  });
});

test('a partition is assigned only to a member that handles its topic, and the load is even', () => {
  const members = [wanting('a', 'x'), wanting('b', 'x', 'y'), wanting('c', 'y', 'z')];
  const partitions = new Map([
    ['x', numbers(4)],
    ['y', numbers(2)],
    ['z', numbers(2)],
  ]);
  expect(Object.fromEntries(assign(members, partitions))).toEqual({
    a: { x: [0, 2] },
    b: { x: [1, 3] },
    c: { y: [0, 1], z: [0, 1] },
  });
});

test('a topic that no member can read or handles is not assigned', () => {
  expect(
    assign(
      [wanting('a', 'x')],
      new Map([
        ['x', []],
        ['y', numbers(2)],
      ]),
    ),
  ).toEqual(new Map());
});
