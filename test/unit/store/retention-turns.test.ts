import { expect, test } from 'vitest';
import { Progress, type Task, takeTurns } from '../../../src/store/retention/turns.ts';

/** Tasks with so many pages each, and the pages that were done, in their order. */
function tasksOf(pages: Readonly<Record<string, number>>): { tasks: readonly Task[]; done: string[] } {
  const left = new Map(Object.entries(pages));
  const done: string[] = [];
  const tasks = [...left.keys()].map((name) => ({
    name,
    page: async () => {
      done.push(name);
      left.set(name, (left.get(name) ?? 0) - 1);
      return (left.get(name) ?? 0) > 0;
    },
  }));
  return { tasks, done };
}

test('tasks take turns, a page each, until all are done', async () => {
  const { tasks, done } = tasksOf({ a: 4, b: 1, c: 2 });

  expect(await takeTurns(tasks, new Progress(), () => false)).toBe(true);

  expect(done.join('')).toBe('abcacaa');
});

test('the task whose turn would have been next goes first in the next round', async () => {
  const { tasks, done } = tasksOf({ a: 100, b: 100, c: 100 });
  const progress = new Progress();
  const round = async (): Promise<boolean> => {
    const until = done.length + 2;
    return takeTurns(tasks, progress, () => done.length >= until);
  };

  expect([await round(), await round(), await round()]).toEqual([false, false, false]);

  expect(done.join('')).toBe('abcabc');
});

test('a task that no longer exists leaves its turn to the first', async () => {
  const progress = new Progress();
  progress.next = 'gone';
  const { tasks, done } = tasksOf({ a: 1, b: 1 });

  await takeTurns(tasks, progress, () => false);

  expect(done.join('')).toBe('ab');
  expect(progress.next).toBeUndefined();
});
