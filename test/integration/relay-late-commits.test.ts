import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { claim } from '../../src/store/lane/claim.ts';
import { acquireLane } from '../../src/store/lane/lease.ts';
import { type LaneBench, laneBench } from '../support/fixtures/lane-bench.ts';

let bench: LaneBench;
beforeEach(async () => {
  bench = await laneBench();
});
afterEach(() => bench.drop());

test('a message that commits late goes before the next one of its key, though the lane has passed its place', async () => {
  const late = await bench.begin();
  await bench.send('T1', { key: 'K' }, late);
  for (let n = 0; n < 10; n += 1) await bench.send(`other-${n}`, { key: 'L' });
  // The first fills its batch, so that the cursor moves past the open transaction in the middle of a backlog.
  await bench.drain({ batch: { messages: 5 } });
  expect(bench.broker.log).toHaveLength(10);

  await late.commit();
  await bench.send('T2', { key: 'K' });
  await bench.drain({ batch: { messages: 1 } });

  expect(bench.broker.labels.slice(10)).toEqual(['T1', 'T2']);
  expect(await bench.states('T1', 'T2')).toEqual(['published', 'published']);
});

test('many late transactions are each read once, whatever the order of their commits', async () => {
  const writers = await Promise.all(Array.from({ length: 12 }, () => bench.begin()));
  for (const [n, writer] of writers.entries()) await bench.send(`late-${n}`, { key: `k${n % 3}` }, writer);
  for (let n = 0; n < 5; n += 1) await bench.send(`early-${n}`);

  // Commit from the last to the first, with a drain in small batches after every second one.
  for (const [n, writer] of [...writers.entries()].toReversed()) {
    if (n % 5 === 4) await writer.rollback();
    else await writer.commit();
    if (n % 2 === 0) await bench.drain({ batch: { messages: 2 } });
  }
  await bench.drain();

  const committed = writers.map((_, n) => n).filter((n) => n % 5 !== 4);
  const expected = [...committed.map((n) => `late-${n}`), ...[0, 1, 2, 3, 4].map((n) => `early-${n}`)];
  expect(bench.broker.labels.toSorted()).toEqual(expected.toSorted());
});

test('a rolled back savepoint leaves no message, and the rest of its transaction is delivered', async () => {
  const writer = await bench.begin();
  await bench.send('before', {}, writer);
  await writer.query('savepoint s');
  await bench.send('inside', {}, writer);
  await writer.query('rollback to savepoint s');
  await writer.query('savepoint t');
  await bench.send('after', {}, writer);
  await bench.send('overtakes');
  await bench.drain();
  await writer.commit();
  await bench.drain();

  expect(bench.broker.labels).toEqual(['overtakes', 'before', 'after']);
});

test('a full batch of late rows never moves the cursor back, and nothing is published twice', async () => {
  const late = await bench.begin();
  for (let n = 0; n < 9; n += 1) await bench.send(`late-${n}`, { key: 'K' }, late);
  for (let n = 0; n < 4; n += 1) await bench.send(`early-${n}`);
  await bench.drain();
  const { cursor } = await bench.laneRow();
  await late.commit();
  await bench.send('last', { key: 'K' });

  await bench.drain({ batch: { messages: 4 } });

  expect(bench.broker.labels.slice(4)).toEqual([...Array(9).keys()].map((n) => `late-${n}`).concat('last'));
  expect(Number((await bench.laneRow()).cursor)).toBeGreaterThan(Number(cursor));
  expect(await bench.states('late-0', 'late-8', 'last', 'early-0')).toEqual(Array(4).fill('published'));
  // The truncated batches said it on their rows, because cursor and snapshot had to stay.
  expect((await bench.row('late-0')).stored).toBe('published');
});

test('rows whose transactions were in progress at the claim are read once, by the next claim', async () => {
  // A row of the first claim is passed; the open ones are exactly those in xip or at xmax and above.
  await bench.send('first');
  const inProgress = await bench.begin();
  await bench.send('in-progress', {}, inProgress);
  const younger = await bench.begin();
  await bench.drain();
  await bench.send('younger', {}, younger);
  // Other databases of the cluster may have transactions of their own in progress.
  expect((await bench.laneRow()).snapshot).toMatch(/:[\d,]+$/);

  await inProgress.commit();
  await bench.drain();
  await younger.commit();
  await bench.drain();
  await bench.drain();

  expect(bench.broker.labels).toEqual(['first', 'in-progress', 'younger']);
});

test('the first transaction that a claim could not see is read by the next one', async () => {
  const id = await bench.send('A');
  const [stored] = await bench.database.query<{ xid: string }>(
    'select xid::text as xid from outbox.message where id = $1',
    [id],
  );
  const xid = BigInt(stored?.xid ?? 0);
  const owner = randomUUID();
  await acquireLane(bench.database, bench.lane, owner);
  const { position: cursor } = await bench.row('A');
  /** What a claim finds that follows one with this snapshot, whose cursor went past the message. */
  const behind = async (snapshot: string) => {
    const limits = { limit: 10, bytes: 1_000_000, failedBlocks: false, suspect: null };
    const claimed = await claim(bench.database, bench.lane, { owner, cursor, snapshot, ...limits });
    expect(claimed.owned).toBe(true);
    return claimed.messages.map((message) => message.id);
  };

  // A snapshot sees what is below its xmin, and nothing from its xmax on.
  expect(await behind(`${xid}:${xid}:`)).toEqual([id]);
  expect(await behind(`${xid - 1n}:${xid}:${xid - 1n}`)).toEqual([id]);
  expect(await behind(`${xid}:${xid + 1n}:${xid}`)).toEqual([id]);
  expect(await behind(`${xid + 1n}:${xid + 1n}:`)).toEqual([]);
  expect(await behind(`${xid - 1n}:${xid + 1n}:${xid - 1n}`)).toEqual([]);
});

test('a batch is bounded by bytes, and a message larger than the bound goes alone', async () => {
  for (const label of ['a', 'b', 'x'.repeat(2_000), 'c']) await bench.send(label);

  await bench.drain({ batch: { bytes: 100 } });

  expect(bench.broker.batches.map((batch) => batch.length)).toEqual([3, 1]);
  expect(bench.broker.log).toHaveLength(4);
});
