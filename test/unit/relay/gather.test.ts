import { expect, test } from 'vitest';
import { gather } from '../../../src/relay/gather.ts';

/** What is asked for, answered when told. */
function asked() {
  const calls: { readonly ids: readonly string[]; answer: () => void; fail: (error: Error) => void }[] = [];
  const of = gather(
    (ids) =>
      new Promise<ReadonlyMap<string, string>>((resolve, reject) => {
        calls.push({ ids, answer: () => resolve(new Map(ids.map((id) => [id, `${id}!`]))), fail: reject });
      }),
  );
  const call = (index: number): (typeof calls)[number] => {
    const found = calls[index];
    if (found === undefined) throw new Error(`There was no call ${index}.`);
    return found;
  };
  return { call, calls, of };
}

test('requests during a call share the next one', async () => {
  const { call, calls, of } = asked();
  const first = of('a');
  const others = [of('b'), of('c'), of('b')];
  expect(calls.map(({ ids }) => ids)).toEqual([['a']]);

  call(0).answer();
  expect(await first).toBe('a!');
  expect(call(1).ids).toEqual(['b', 'c']);
  call(1).answer();

  expect(await Promise.all(others)).toEqual(['b!', 'c!', 'b!']);
});

test('a failed call fails its ids, and the next ones are requested', async () => {
  const { call, of } = asked();
  const first = of('a');
  const second = of('b');

  call(0).fail(new Error('cut'));

  await expect(first).rejects.toThrow('cut');
  call(1).answer();
  expect(await second).toBe('b!');
});

test('a call has at most 500 ids', async () => {
  const { call, of } = asked();
  const all = Array.from({ length: 701 }, (_, n) => of(String(n)));
  call(0).answer();
  await all[0];
  expect(call(1).ids).toHaveLength(500);
  call(1).answer();
  await all[500];
  expect(call(2).ids).toHaveLength(200);
  call(2).answer();
  expect(await Promise.all(all)).toHaveLength(701);
});

test('an id without an answer rejects, and the others do not', async () => {
  const of = gather(
    async (ids: readonly string[]) => new Map(ids.filter((id) => id !== 'gone').map((id) => [id, id])),
  );
  const gone = of('gone');
  const there = of('there');
  await expect(gone).rejects.toThrow('no answer for gone');
  expect(await there).toBe('there');
});
