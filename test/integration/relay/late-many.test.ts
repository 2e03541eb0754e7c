import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Sql } from '../../../src/store/database/database.ts';
import { claim } from '../../../src/store/lane/claim.ts';
import { acquireLane } from '../../../src/store/lane/lease.ts';
import { readStatus } from '../../../src/store/lane/status.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import type { OpenTransaction } from '../../support/fixtures/open-transaction.ts';

let fixture: LaneFixture;
eachLane((made) => (fixture = made));

const rows = 3_000;
const batch = { messages: 100 };

/** Messages of a transaction that commits once the lane has passed a later one. */
async function lateMessages(sql: Pick<OpenTransaction, 'query'>): Promise<void> {
  await sql.query(
    `insert into outbox.log_1 (id, topic, lane, key, payload)
     select gen_random_uuid(), 'orders', 0, 'k' || g % 7, '"' || g || '"' from generate_series(1, $1::integer) g`,
    [rows],
  );
}

/** A lane that has sent the first batches of a large late transaction. */
async function halfSent(batches: number): Promise<void> {
  const late = await fixture.begin();
  await lateMessages(late);
  await fixture.send('early');
  await fixture.drain();
  await late.commit();
  await sendBatches(batches, batch.messages);
}

async function sendBatches(batches: number, messages: number): Promise<void> {
  const upTo = fixture.broker.log.length + batches * messages;
  const stop = new AbortController();
  fixture.broker.after = () => {
    if (fixture.broker.log.length >= upTo) stop.abort();
  };
  await fixture.drain({ batch: { messages }, signal: stop.signal });
  fixture.broker.after = () => undefined;
}

const besideTheLog = async (): Promise<number> => {
  const [row] = await fixture.database.query<{ n: number }>(
    'select count(*)::integer as n from only outbox.message',
  );
  return row?.n ?? 0;
};

test('a large late transaction is sent in order, once, by batches that write no rows; later messages follow', {
  tags: ['one-bad-slows-no-other'],
}, async () => {
  await halfSent(3);
  const { cursor } = await fixture.laneRow();
  await fixture.send('new', { key: 'k0' });

  await fixture.drain({ batch });

  const sent = Array.from({ length: rows }, (_, n) => String(n + 1));
  expect(fixture.broker.labels).toEqual(['early', ...sent, 'new']);
  expect(await besideTheLog()).toBe(0);
  expect(BigInt((await fixture.laneRow()).cursor)).toBeGreaterThan(BigInt(cursor));
});

test('half of a large late transaction is published, for operators and the next owner, and no more', async () => {
  await halfSent(3);
  const sent = fixture.broker.log.length;
  const published = await fixture.database.query<{ id: string }>(
    `select id from outbox.message_all where state = 'published'`,
  );
  expect(published.map(({ id }) => id).toSorted()).toEqual(fixture.broker.log.map(({ id }) => id).toSorted());
  const [lane] = await readStatus(fixture.database);
  expect(lane).toMatchObject({ ready: rows + 1 - sent, hasWork: true });
  const [wanted] = await fixture.database.query<{ work: boolean }>(
    'select outbox.has_work(l) as work from outbox.lane l',
  );
  expect(wanted?.work).toBe(true);
});

test('of many messages of a key that is free again, a status counts those that are left', {
  tags: ['alerts-told-once'],
}, async () => {
  fixture.broker.judge = () => 'reject';
  for (let n = 0; n < 201; n += 1) await fixture.send(String(n), { key: 'k' });
  await fixture.drain();
  fixture.broker.judge = () => 'store';
  await fixture.send('last');
  await fixture.drain();
  await fixture.release('0');
  await sendBatches(7, 20);

  const [lane] = await readStatus(fixture.database, 60);
  expect(lane?.ready).toBe(60);
});

/** Rows of the log that this connection has read, since it last told the statistics. */
async function rowsRead(sql: Sql): Promise<number> {
  const [row] = await sql.query<{ rows: number }>(
    `select idx_tup_fetch::integer as rows from pg_stat_xact_user_tables where relname = 'log_1'`,
  );
  return row?.rows ?? 0;
}

/** Rows of the log that the next claim reads, and how many messages it finds. */
async function nextClaim(limit: number): Promise<{ readonly read: number; readonly found: number }> {
  const owner = randomUUID();
  const at = await acquireLane(fixture.database, fixture.lane, owner);
  if (at === undefined) throw new Error('The lane is taken.');
  const { cursor, snapshot, late } = at;
  const limits = { limit, bytes: 1_000_000, failedBlocks: false, suspect: null };
  return fixture.database.transaction(async (sql) => {
    const before = await rowsRead(sql);
    const { messages } = await claim(sql, fixture.lane, { owner, cursor, snapshot, late, ...limits });
    return { read: (await rowsRead(sql)) - before, found: messages.length };
  });
}

test('a claim amid a large late transaction reads a batch of it', {
  tags: ['one-bad-slows-no-other'],
}, async () => {
  await halfSent(3);
  const { read, found } = await nextClaim(batch.messages);
  expect(found).toBe(batch.messages);
  // The walk is tried first. All that are left would be 2,700.
  expect(read).toBeGreaterThanOrEqual(batch.messages);
  expect(read).toBeLessThanOrEqual(3 * batch.messages);
});

test('a claim amid late messages that are few among others, but many, reads them neither all nor in vain', {
  tags: ['one-bad-slows-no-other'],
}, async () => {
  const [many, every, limit] = [5_000, 40, 10];
  const late = await fixture.begin();
  const stored = `insert into outbox.log_1 (id, topic, lane, position, payload)
    select gen_random_uuid(), 'orders', 0, g, '{}' from generate_series(1, $1::integer) g where (g % $2 = 0) = $3`;
  await late.query(stored, [many * every, every, true]);
  await fixture.database.query(stored, [many * every, every, false]);
  await fixture.database.query(`select setval('outbox.message_position', $1)`, [many * every]);
  await fixture.database.query('update outbox.lane set cursor = $1, snapshot = pg_current_snapshot()', [
    many * every,
  ]);
  await late.commit();
  await sendBatches(2, limit);

  const { read, found } = await nextClaim(limit);
  expect(found).toBe(limit);
  // A walk to the end of the batch reads 400.
  expect(read).toBeLessThan(many / 2);
});

async function lateAndWork(): Promise<unknown> {
  const [lane] = await fixture.database.query(
    'select late_cursor is not null as late, outbox.has_work(l) as work from outbox.lane l',
  );
  return lane;
}

test('what is left of late messages when all others of them are gone ends with the next claim', async () => {
  await halfSent(3);
  await fixture.database.query(`delete from outbox.log m using outbox.lane l
    where not outbox.is_passed(l.cursor, l.snapshot, l.late_cursor, l.late_snapshot, m.position, m.xid)`);
  await fixture.drain({ batch });
  expect(await lateAndWork()).toEqual({ late: false, work: false });
  await fixture.send('new');
  await fixture.drain({ batch });
  expect(fixture.broker.labels.at(-1)).toBe('new');
});

test('a large late transaction whose last batch is full ends with the next claim, which is empty', {
  tags: ['one-bad-slows-no-other'],
}, async () => {
  await halfSent(rows / batch.messages);
  expect(await lateAndWork()).toEqual({ late: true, work: true });
  expect(fixture.broker.log).toHaveLength(1 + rows);

  await fixture.drain({ batch });

  expect(await lateAndWork()).toEqual({ late: false, work: false });
  expect(fixture.broker.log).toHaveLength(1 + rows);
  await fixture.send('new');
  await fixture.drain({ batch });
  expect(fixture.broker.labels.at(-1)).toBe('new');
});

/** Numbers from 0 to 1 that a seed repeats. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

test.each([1, 2, 3])(
  'late transactions whose commits, stops and retries meet lose, double and reorder nothing: seed %i',
  { tags: ['one-bad-slows-no-other'] },
  async (seed) => {
    const random = randomOf(seed);
    const writers = await Promise.all(Array.from({ length: 5 }, () => fixture.begin()));
    const labels: string[] = [];
    const send = async (writer: number, sql?: OpenTransaction): Promise<void> => {
      const key = `k${Math.floor(random() * 4)}`;
      const label = `${writer}/${key}/${labels.length}`;
      labels.push(label);
      // Some lie beside the log.
      const ref = random() < 0.2 ? { ref: label } : {};
      await fixture.send(label, { key, ...ref }, sql);
    };
    for (let n = 0; n < 200; n += 1) {
      const writer = Math.floor(random() * 6);
      await send(writer, writers[writer]);
    }
    const open = new Set(writers);
    const commitOne = async (): Promise<void> => {
      const [writer] = [...open].toSorted(() => random() - 0.5);
      if (writer === undefined) return;
      open.delete(writer);
      await writer.commit();
    };
    const refused = new Set<string>();
    fixture.broker.judge = ({ id }) => {
      if (random() > 0.04 || refused.has(id)) return 'store';
      refused.add(id);
      return 'reject';
    };
    await fixture.drain({ batch: { messages: 7 } });
    for (let turn = 0; turn < 60; turn += 1) {
      const stop = new AbortController();
      fixture.broker.before = async () => {
        if (random() < 0.2) await commitOne();
        if (random() < 0.2) await send(5);
      };
      fixture.broker.after = () => (random() < 0.2 ? stop.abort() : undefined);
      await fixture.drain({ batch: { messages: 3 + Math.floor(random() * 8) }, signal: stop.signal });
      if (random() < 0.3) await commitOne();
      const retrying = await fixture.database.query<{ payload: string }>(
        `select payload from outbox.message where state = 'retrying'`,
      );
      for (const { payload } of retrying)
        if (random() < 0.6) await fixture.release(String(JSON.parse(payload)));
    }
    while (open.size > 0) await commitOne();
    fixture.broker.judge = () => 'store';
    fixture.broker.before = () => undefined;
    fixture.broker.after = () => undefined;
    for (const { payload } of await fixture.database.query<{ payload: string }>(
      `select payload from outbox.message where state = 'retrying'`,
    ))
      await fixture.release(String(JSON.parse(payload)));
    await fixture.drain({ batch: { messages: 9 } });

    expect(fixture.broker.labels.toSorted()).toEqual(labels.toSorted());
    expect(
      await fixture.database.query(`select id from outbox.message_all where state <> 'published'`),
    ).toEqual([]);
    const keyed = (label: string): string => label.slice(0, label.lastIndexOf('/'));
    for (const group of new Set(labels.map(keyed))) {
      const sent = fixture.broker.labels.filter((label) => keyed(label) === group);
      expect(sent).toEqual(labels.filter((label) => keyed(label) === group));
    }
  },
);
