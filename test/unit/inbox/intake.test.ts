import { expect, test } from 'vitest';
import { IntakeBench, numbered } from './intake-bench.ts';

const fails =
  (...numbers: readonly number[]) =>
  async (n: number): Promise<void> => {
    if (numbers.includes(n)) throw new Error(`no ${n}`);
  };

test('without a listener a message that ends well creates no event', async () => {
  const bench = new IntakeBench({ heard: false });

  await bench.offer([numbered(1)]);

  expect(bench.tally.counts().handled).toBe(1);
  expect(bench.events).toEqual([]);
});

test('a message of a topic without a handler is skipped and reported with its offset', async () => {
  const bench = new IntakeBench();

  const offered = await bench.offer([numbered(1, { headers: { ce_type: 'others' } }), numbered(2)]);

  expect(offered.acknowledged).toEqual(['1', '2']);
  expect(bench.handled).toEqual([2]);
  expect(bench.tally.counts()).toMatchObject({ handled: 1, ignored: 1 });
  expect(bench.told('ignored')).toEqual([
    { type: 'ignored', id: 'id-1', topic: 'others', address: 'orders', partition: 0, offset: '1' },
  ]);
});

test('messages known to be handled or kept cost no transaction, and both are reported as duplicates', async () => {
  const bench = new IntakeBench();
  bench.database.on('outbox.read_processed', () => [{ noted: '["id-1","id-2"]', others: null }]);
  bench.database.on('select 1 from outbox.parked', () => [{}]);
  bench.database.on('select message_id as id from outbox.parked', () => [{ id: 'id-2' }]);

  const offered = await bench.offer([numbered(1), numbered(2), numbered(3)]);

  expect(offered.acknowledged).toEqual(['1', '2', '3']);
  expect(bench.handled).toEqual([3]);
  expect(bench.told('duplicate').map((event) => 'id' in event && event.id)).toEqual(['id-1', 'id-2']);
  expect(bench.tally.counts()).toMatchObject({ handled: 1, duplicates: 2 });
  expect(bench.database.said('outbox.receive_one(').map(([, id]) => id)).toEqual(['id-3']);
  expect(bench.marked()).toEqual([['id-3']]);
});

test('the database is asked for duplicates while there are some, and again from the next one on', async () => {
  const bench = new IntakeBench();
  const asked = (): number => bench.database.said('outbox.read_processed').length;
  await bench.offer([numbered(1), numbered(2)]);
  expect(asked(), 'a consumer may begin with a replay').toBe(1);
  await bench.offer([numbered(3), numbered(4)]);
  expect(asked(), 'there was none').toBe(1);

  bench.database.on('outbox.receive_one(', () => [{ stored: null }]);
  bench.database.on('outbox.receive(', () => [{ arrivals: JSON.stringify(['processed']) }]);
  await bench.offer([numbered(5)]);
  expect(bench.tally.counts()).toMatchObject({ handled: 4, duplicates: 1 });
  await bench.offer([numbered(6), numbered(7)]);
  expect(asked()).toBe(2);
});

test('a batch that may not begin leaves no trace, and one that may not continue leaves no mark', async () => {
  const bench = new IntakeBench();

  const none = await bench.offer([numbered(1)], { mayBegin: () => false });
  expect(none).toEqual({ acknowledged: [], rejected: [] });
  expect(bench.marked()).toEqual([]);

  let left = 2;
  const part = await bench.offer([numbered(1), numbered(2)], { mayBegin: () => (left -= 1) >= 0 });
  expect(part).toEqual({ acknowledged: ['1'], rejected: [] });
  expect(bench.handled).toEqual([1]);
  const [mark] = bench.database.said('insert into outbox.mark');
  expect(bench.database.said('and partition = $3 and owner').at(-1)).toEqual([
    'shop',
    'orders',
    0,
    mark?.[3],
  ]);
});

test('a message that was kept or handled in between is not kept again', async () => {
  for (const arrival of ['processed', 'kept']) {
    const bench = new IntakeBench({ handler: fails(1) });
    let tries = 0;
    bench.database.on('outbox.receive_one(', () => [{ stored: (tries += 1) === 1 ? 'true' : null }]);
    bench.database.on('outbox.receive(', () => [{ arrivals: JSON.stringify([arrival]) }]);

    const offered = await bench.offer([numbered(1)]);

    expect(offered.acknowledged).toEqual(['1']);
    expect(bench.parked()).toEqual([]);
    expect(bench.told('duplicate')).toHaveLength(1);
  }
});

test('receipts are sent before the batch ends, for messages whose topic requires those of this group', async () => {
  const confirm = { group: 'shop', receiptTimeout: ['1m'] } as const;
  const source = '/outbox/01234567-89ab-cdef-0123-456789abcdef';
  const bench = new IntakeBench({ topicOptions: { confirm }, handler: fails(3) });
  bench.database.on('outbox.receive_one(', ([, id]) => [{ stored: id === 'id-2' ? null : 'true' }]);
  bench.database.on('outbox.receive(', () => [{ arrivals: JSON.stringify(['kept']) }]);

  await bench.offer([1, 2, 3].map((n) => numbered(n, { headers: { ce_source: source } })));

  const installation = '01234567-89ab-cdef-0123-456789abcdef';
  expect(bench.receipts).toEqual([
    { state: 'processed', ids: ['id-1'], installation },
    { state: 'parked', ids: ['id-2', 'id-3'], installation },
  ]);

  const elsewhere = new IntakeBench({ topicOptions: { confirm: { ...confirm, group: 'other' } } });
  await elsewhere.offer([numbered(1)]);
  expect(elsewhere.receipts).toEqual([]);
});

test('the filter gets handled messages and nothing else', async () => {
  const added: string[][] = [];
  const filter = {
    seen: async (_group: string, ids: readonly string[]) => new Set(ids.filter((id) => id === 'id-9')),
    add: async (_group: string, ids: readonly string[]) => void added.push([...ids]),
    close: async () => undefined,
  };
  const one = new IntakeBench({ filter, handler: fails(2) });
  const offered = await one.offer([numbered(1), numbered(2), numbered(9)]);
  expect(offered.acknowledged).toEqual(['9', '1', '2']);
  expect(one.database.said('outbox.read_processed').map(([, ids]) => ids)).toEqual([
    JSON.stringify(['id-1', 'id-2']),
  ]);
  expect(added).toEqual([['id-1']]);

  const many = new IntakeBench({ filter, batchSize: 10 });
  many.database.on('outbox.receive(', () => [{ arrivals: JSON.stringify(['new', 'processed', 'new']) }]);
  await many.offer([numbered(4), numbered(5), numbered(6)]);
  expect(added.slice(1)).toEqual([['id-4', 'id-6']]);
});

test('the database is asked only for ids unknown to the filter', async () => {
  const seen = new Set(['id-1']);
  const filter = { seen: async () => seen, add: async () => undefined, close: async () => undefined };
  const bench = new IntakeBench({ filter });

  await bench.offer([numbered(1), numbered(2)]);
  expect(bench.database.said('outbox.read_processed').map(([, ids]) => ids)).toEqual(['["id-2"]']);
  expect(bench.handled).toEqual([2]);

  bench.intake.assigned([]);
  seen.add('id-2');
  const known = new IntakeBench({ filter });
  await known.offer([numbered(1), numbered(2)]);
  expect(known.database.said('outbox.read_processed')).toEqual([]);
  expect(known.tally.counts().duplicates).toBe(2);
});
