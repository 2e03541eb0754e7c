import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { claim } from '../../../src/store/lane/claim.ts';
import { acquireLane } from '../../../src/store/lane/lease.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { kindsOfMessages } from '../../support/fixtures/leaves.ts';

describe.each(kindsOfMessages)('messages $kind', ({ everyMessage }) => {
  let fixture: LaneFixture;
  eachLane((made) => {
    fixture = made;
    fixture.everyMessage = everyMessage;
  });

  test('a message that commits late goes before the next one of its key, although the lane has passed its position', async () => {
    const late = await fixture.begin();
    await fixture.send('T1', { key: 'K' }, late);
    for (let n = 0; n < 10; n += 1) await fixture.send(`other-${n}`, { key: 'L' });
    // The first fills its batch, so that the cursor moves past the open transaction in the middle of a backlog.
    await fixture.drain({ batch: { messages: 5 } });
    expect(fixture.broker.log).toHaveLength(10);

    await late.commit();
    await fixture.send('T2', { key: 'K' });
    await fixture.drain({ batch: { messages: 1 } });

    expect(fixture.broker.labels.slice(10)).toEqual(['T1', 'T2']);
    expect(await fixture.states('T1', 'T2')).toEqual(['published', 'published']);
  });

  test('many late transactions are each read once, whatever the order of their commits', async () => {
    const writers = await Promise.all(Array.from({ length: 12 }, () => fixture.begin()));
    for (const [n, writer] of writers.entries())
      await fixture.send(`late-${n}`, { key: `k${n % 3}` }, writer);
    for (let n = 0; n < 5; n += 1) await fixture.send(`early-${n}`);

    // Commit from the last to the first, with a drain in small batches after every second one.
    for (const [n, writer] of [...writers.entries()].toReversed()) {
      if (n % 5 === 4) await writer.rollback();
      else await writer.commit();
      if (n % 2 === 0) await fixture.drain({ batch: { messages: 2 } });
    }
    await fixture.drain();

    const committed = writers.map((_, n) => n).filter((n) => n % 5 !== 4);
    const expected = [...committed.map((n) => `late-${n}`), ...[0, 1, 2, 3, 4].map((n) => `early-${n}`)];
    expect(fixture.broker.labels.toSorted()).toEqual(expected.toSorted());
  });

  test('a savepoint that is rolled back leaves no message, and the rest of its transaction is delivered', async () => {
    const writer = await fixture.begin();
    await fixture.send('before', {}, writer);
    await writer.query('savepoint s');
    await fixture.send('inside', {}, writer);
    await writer.query('rollback to savepoint s');
    await writer.query('savepoint t');
    await fixture.send('after', {}, writer);
    await fixture.send('overtakes');
    await fixture.drain();
    await writer.commit();
    await fixture.drain();

    expect(fixture.broker.labels).toEqual(['overtakes', 'before', 'after']);
  });

  test('a full batch of late rows never moves the cursor back, and nothing is published twice', async () => {
    const late = await fixture.begin();
    for (let n = 0; n < 9; n += 1) await fixture.send(`late-${n}`, { key: 'K' }, late);
    for (let n = 0; n < 4; n += 1) await fixture.send(`early-${n}`);
    await fixture.drain();
    const { cursor } = await fixture.laneRow();
    await late.commit();
    await fixture.send('last', { key: 'K' });

    await fixture.drain({ batch: { messages: 4 } });

    expect(fixture.broker.labels.slice(4)).toEqual(
      [...Array(9).keys()].map((n) => `late-${n}`).concat('last'),
    );
    expect(Number((await fixture.laneRow()).cursor)).toBeGreaterThan(Number(cursor));
    expect(await fixture.states('late-0', 'late-8', 'last', 'early-0')).toEqual(Array(4).fill('published'));
    // The truncated batches wrote no rows: the late cursor said it while the cursor had to stay.
    expect((await fixture.row('late-0')).stored).toBe('ready');
  });

  test('rows whose transactions were in progress at the claim are read once, by the next claim', async () => {
    // A row of the first claim is passed; the open ones are exactly those in xip or at xmax and above.
    await fixture.send('first');
    const inProgress = await fixture.begin();
    await fixture.send('in-progress', {}, inProgress);
    const younger = await fixture.begin();
    await fixture.drain();
    await fixture.send('younger', {}, younger);
    // Other databases of the cluster may have transactions of their own in progress.
    expect((await fixture.laneRow()).snapshot).toMatch(/:[\d,]+$/);

    await inProgress.commit();
    await fixture.drain();
    await younger.commit();
    await fixture.drain();
    await fixture.drain();

    expect(fixture.broker.labels).toEqual(['first', 'in-progress', 'younger']);
  });

  test('the first transaction that a claim could not see is read by the next one', async () => {
    const id = await fixture.send('A');
    const [stored] = await fixture.database.query<{ xid: string }>(
      'select xid::text as xid from outbox.message where id = $1',
      [id],
    );
    const xid = BigInt(stored?.xid ?? 0);
    const owner = randomUUID();
    await acquireLane(fixture.database, fixture.lane, owner);
    const { position: cursor } = await fixture.row('A');
    /** What a claim finds that follows one with this snapshot, whose cursor went past the message. */
    const behind = async (snapshot: string) => {
      const limits = { limit: 10, bytes: 1_000_000, failedBlocks: false, suspect: null };
      const claimed = await claim(fixture.database, fixture.lane, { owner, cursor, snapshot, ...limits });
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

  test('a batch is limited by bytes, and a message larger than the limit goes alone', {
    tags: ['batch-within-memory'],
  }, async () => {
    for (const label of ['a', 'b', 'x'.repeat(2_000), 'c']) await fixture.send(label);

    await fixture.drain({ batch: { bytes: 100 } });

    expect(fixture.broker.batches.map((batch) => batch.length)).toEqual([3, 1]);
    expect(fixture.broker.log).toHaveLength(4);
  });
});
