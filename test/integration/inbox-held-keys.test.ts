import { expect, test } from 'vitest';
import { receive } from '../../src/store/inbox/receive.ts';
import { giveUp, type KeptBench, keptBench } from '../support/fixtures/kept-bench.ts';
import { ada } from '../support/fixtures/operator.ts';

const of = ({ group }: KeptBench, ...ids: readonly string[]) => ({ group, ids });

/** A key that a failed message holds, with two more behind it. */
async function heldKey(bench: KeptBench): Promise<readonly [holder: string, string, string]> {
  const holder = await bench.keep('holder');
  const behind = [await bench.keep('second'), await bench.keep('third')] as const;
  const begun = await bench.beginOnceKnown(holder);
  if (begun.kind !== 'try') throw new Error(`no try, but ${begun.kind}`);
  await giveUp(bench, begun.message, true);
  return [holder, ...behind];
}

/** What becomes of a message of the key that arrives now. */
const arrivesNow = (bench: KeptBench) =>
  bench.database.transaction((sql) => receive(sql, bench.group, [{ id: 'late', topic: 'orders', key: 'K' }]));

test('discarding those behind a failed message that holds its key lets nobody pass it', async (end) => {
  const bench = await keptBench(end, { holdKey: true });
  const [holder, second, third] = await heldKey(bench);

  expect(await bench.operator.inbox.discard(of(bench, second), ada)).toMatchObject([{ result: 'discarded' }]);
  expect((await bench.keyOf(holder))?.dueInMs, 'it has no time').toBeNull();
  expect(await bench.begin(third)).toMatchObject({ kind: 'held' });

  expect(await bench.operator.inbox.discard(of(bench, third), ada)).toMatchObject([{ result: 'discarded' }]);
  expect(await arrivesNow(bench)).toEqual(['queued']);
});

test('those behind a failed message that holds its key can be neither retried nor edited before it', async (end) => {
  const bench = await keptBench(end, { holdKey: true });
  const [holder, second, third] = await heldKey(bench);

  expect(await bench.operator.inbox.retry(of(bench, second), ada)).toMatchObject([{ result: 'behind-key' }]);
  const edit = bench.operator.inbox.edit({ group: bench.group, id: third }, { ...ada, payload: 1 });
  await expect(edit).rejects.toThrow('an earlier message of its key goes first');
  expect(await bench.begin(second)).toMatchObject({ kind: 'held' });

  await bench.operator.inbox.retry(of(bench, holder), ada);
  expect(await bench.drain(holder)).toEqual([holder, second, third]);
});

test('an older failed message of a held key is handled when it is retried, and the key is held again', async (end) => {
  const bench = await keptBench(end, { holdKey: true });
  const older = await bench.keep('older', { state: 'failed' });
  const holder = await bench.keep('holder', { state: 'failed', hold: true });
  const behind = await bench.keep('behind');

  expect(await bench.operator.inbox.retry(of(bench, older), ada)).toMatchObject([{ result: 'retried' }]);

  expect(await bench.drain(older)).toEqual([older]);
  expect(await bench.begin(behind)).toMatchObject({ kind: 'held' });
  expect((await bench.keyOf(holder))?.dueInMs, 'it has no time').toBeNull();
  expect(await arrivesNow(bench)).toEqual(['queued']);
});

test('what fails behind a message that was retried meanwhile holds its key only after that one', async (end) => {
  const bench = await keptBench(end, { holdKey: true });
  const older = await bench.keep('older', { state: 'failed' });
  const [tried, behind] = [await bench.keep('tried'), await bench.keep('behind')];
  const begun = await bench.beginOnceKnown(tried);
  if (begun.kind !== 'try') throw new Error(`no try, but ${begun.kind}`);

  expect(await bench.operator.inbox.retry(of(bench, older), ada)).toMatchObject([{ result: 'retried' }]);
  await giveUp(bench, begun.message, true);
  const shown = await bench.operator.inbox.show({ group: bench.group, id: behind });
  expect(shown).toMatchObject({ why: { text: expect.stringContaining('2 messages') } });

  expect(await bench.drain(older)).toEqual([older]);
  expect(await bench.begin(behind)).toMatchObject({ kind: 'held' });
  await bench.operator.inbox.retry(of(bench, tried), ada);
  expect(await bench.drain(tried)).toEqual([tried, behind]);
});
