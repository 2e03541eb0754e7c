import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { policyOf } from '../../../src/app/relay/topic-policy.ts';
import type { Duration } from '../../../src/core/duration.ts';
import { topic } from '../../../src/core/topic.ts';
import { announceTopics } from '../../../src/operations/announce.ts';
import { keepWindow } from '../../../src/store/inbox/window.ts';
import { type ArchiveFixture, archiveFixture } from '../../support/fixtures/archive-fixture.ts';
import { lockedAtOnce } from '../../support/fixtures/locked-at-once.ts';
import { until } from '../../support/fixtures/until.ts';

let at: ArchiveFixture;
beforeEach(async () => {
  at = await archiveFixture();
});
afterEach(() => at.fixture.drop());

const day = 24 * 60 * 60_000;

async function partitions(): Promise<readonly string[]> {
  const rows = await at.fixture.database.query<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'outbox.message_history'::regclass order by 1`,
  );
  return rows.map(({ name }) => name.replace('outbox.message_history_', ''));
}

/** Has the outbox believe in another time. */
async function itIs(time: string): Promise<void> {
  await at.fixture.database.query(
    `create or replace function outbox.clock() returns timestamptz language sql stable as $$ select '${time}'::timestamptz $$`,
  );
}

async function count(table: string): Promise<number> {
  const [row] = await at.fixture.database.query<{ count: number }>(
    `select count(*)::integer as count from outbox.${table}`,
  );
  return row?.count ?? Number.NaN;
}

/** Sends, publishes and archives one message that is not in the log. */
async function archiveOne(label: string): Promise<void> {
  await at.fixture.send(label, { id: randomUUID() });
  await at.fixture.drain();
  await at.fixture.database.query(`update outbox.message set updated_at = '2020-01-01'`);
  await at.fixture.database.query(`update outbox.batch set published_at = '2020-01-01'`);
  expect(await at.archive()).toMatchObject({ archived: 1 });
}

test('the months of the history are created ahead, in UTC, and once among several relays', async () => {
  await itIs('2026-12-31 23:59:00+00');
  await Promise.all(Array.from({ length: 6 }, () => at.archive()));
  expect(await partitions()).toEqual(['2026_12', '2027_01']);

  await itIs('2027-01-01 00:00:30+00');
  await archiveOne('of January');
  expect(await partitions()).toEqual(['2026_12', '2027_01', '2027_02']);
  expect(await count('message_history_2027_01')).toBe(1);
});

test('a month is dropped once its youngest message has expired, not before', async () => {
  await itIs('2026-01-15 12:00:00+00');
  await archiveOne('of January');
  await itIs('2026-05-01 23:59:59+00');
  expect(await at.archive({ historyMs: 90 * day })).toMatchObject({ dropped: 0 });
  expect(await at.whereabouts('of January')).toEqual(['archived published']);

  // 90 days after the end of January; February has not ended 90 days ago.
  await itIs('2026-05-02 00:00:00+00');
  expect(await at.archive({ historyMs: 90 * day })).toMatchObject({ dropped: 1, inUse: 0 });
  expect(await partitions()).toEqual(['2026_02', '2026_05', '2026_06']);
  expect(await at.whereabouts('of January')).toEqual(['']);
});

test('a drop neither waits for a transaction that reads the history nor makes others wait', async () => {
  await itIs('2026-01-15 12:00:00+00');
  await archiveOne('of January');
  await itIs('2026-09-15 12:00:00+00');
  const reader = await at.fixture.begin();
  await reader.query(`select outbox.cancel('orders', id => gen_random_uuid())`);

  // A month that is made meanwhile is seen a moment before its maker gives up its lock.
  const tables = ['message_history', ...(await partitions()).map((month) => `message_history_${month}`)];
  const over = new AbortController();
  const dropping = at.archive().finally(() => over.abort());
  let longestMs = 0;
  // Senders with ids of their own look into the history.
  while (!over.signal.aborted) {
    const startedAt = performance.now();
    await at.fixture.send('meanwhile', { id: randomUUID() });
    longestMs = Math.max(longestMs, performance.now() - startedAt);
    await lockedAtOnce(at.fixture, ...tables);
  }
  expect(await dropping).toMatchObject({ dropped: 0, inUse: 2 });
  // 200 ms and what the machine takes. A wait for a drop that waits for the reader would never end.
  expect(longestMs).toBeLessThan(20_000);
  await reader.commit();

  expect(await at.archive()).toMatchObject({ dropped: 2, inUse: 0 });
});

test('records of batches stay while messages of them are live, and are deleted a week later', async () => {
  const { fixture } = at;
  await fixture.send('first', { id: randomUUID() });
  await fixture.drain();
  await fixture.send('second', { id: randomUUID() });
  await fixture.drain();
  await at.age('23 hours');
  await fixture.database.query(`update outbox.message set updated_at = now() where id = $1`, [
    fixture.idOf('second'),
  ]);
  await at.age('8 days');
  await fixture.database.query(`update outbox.message set updated_at = now() where id = $1`, [
    fixture.idOf('second'),
  ]);

  expect(await at.archive()).toMatchObject({ archived: 1, deleted: { batches: 1 } });
  expect(await at.whereabouts('first', 'second')).toEqual(['archived published', 'live published']);
  expect(await count('batch')).toBe(1);
  await at.age('25 hours');
  expect(await at.archive()).toMatchObject({ archived: 1, deleted: { batches: 1 } });
});

test('records of batches younger than a week stay, and with them the positions of the lane by time', async () => {
  await at.fixture.send('A');
  await at.fixture.drain();
  await at.age('6 days');

  expect(await at.archive()).toMatchObject({ archived: 1, deleted: { batches: 0 } });
  expect(await count('batch')).toBe(1);
});

test('attempts of archived messages expire, those of live messages stay', async () => {
  const { fixture } = at;
  fixture.broker.judge = (message) => (JSON.parse(message.payload) === 'failed' ? 'permanent' : 'store');
  await fixture.send('failed');
  await fixture.send('stored', { afterMs: 60_000 });
  await fixture.release('stored');
  await fixture.drain();
  expect(await count('attempt')).toBe(2);
  await at.age('91 days');
  await fixture.database.query(
    `insert into outbox.attempt (message_id, at, outcome) values (gen_random_uuid(), now(), 'rejected')`,
  );

  expect(await at.archive({}, { pageRows: 1 })).toMatchObject({ archived: 1, deleted: { attempts: 1 } });
  const rows = await fixture.database.query<{ id: string }>(
    `select message_id as id from outbox.attempt order by attempt.id`,
  );
  expect(rows).toHaveLength(2);
  expect(rows[0]?.id).toBe(fixture.idOf('failed'));
});

test('processed ids expire unless their message is live, and never with a retention of null', async () => {
  const { fixture } = at;
  const live = await fixture.send('live');
  const mark = (): Promise<readonly unknown[]> =>
    fixture.database.query(
      `select from outbox.mark_processed('g', array[$1, 'of another producer'], '{orders,orders}')`,
      [live],
    );
  expect(await mark()).toHaveLength(2);
  await at.age('8 days');
  expect(await at.archive()).toMatchObject({ processed: { rolled: true, dropped: 0, complete: true } });
  await at.age('29 days');
  expect(await at.archive()).toMatchObject({ processed: { rolled: false, dropped: 0 } });
  await at.age('2 days');
  expect(await at.archive({ processedMs: null })).toMatchObject({ processed: { dropped: 0 } });
  expect(await mark()).toHaveLength(0);
  // A consumer's keeper also has it.
  const signal = new AbortController().signal;
  expect(await keepWindow(fixture.database, { windowMs: day, signal })).toMatchObject({ dropped: 0 });

  expect(await at.archive()).toMatchObject({ processed: { dropped: 1, carried: 1, complete: true } });
  expect(await mark()).toHaveLength(1);
});

test('a lane drains and senders send while a business transaction is open and an archive round runs', {
  tags: ['archive-blocks-nothing'],
}, async () => {
  const { fixture } = at;
  for (let n = 0; n < 200; n += 1) await fixture.send(`old${n}`, { id: randomUUID() });
  const locked = await fixture.send('locked', { afterMs: 60_000 });
  await fixture.cancel('locked');
  await fixture.drain();
  await at.age('25 hours');
  // An open business transaction that has sent, has canceled, and holds the lock of a row that is to be archived.
  const business = await fixture.begin();
  const other = await fixture.send('cancelable', { afterMs: 60_000 });
  await fixture.send('uncommitted', {}, business);
  await business.query(`select outbox.cancel('orders', id => $1)`, [other]);
  await business.query('select from outbox.message where id = $1 for update', [locked]);

  const before = fixture.broker.log.length;
  let sent = 0;
  let rounds = 0;
  const over = new AbortController();
  const rest = async (): Promise<void> => {
    while (!over.signal.aborted) {
      await at.archive({}, { pageRows: 20 });
      rounds += 1;
    }
  };
  const load = async (): Promise<void> => {
    for (; sent < 100; sent += 1) {
      await fixture.send(`new${sent}`, { id: randomUUID() });
      await fixture.drain();
    }
    await until(() => rounds >= 2);
    over.abort();
  };
  await Promise.all([rest(), load()]);

  expect(fixture.broker.log.length - before).toBe(100);
  expect(await count('message_history')).toBe(200);
  expect(await at.whereabouts('locked')).toEqual(['live canceled']);
  await business.commit();
  expect(await at.archive()).toMatchObject({ archived: 1 });
  expect(await at.whereabouts('locked', 'cancelable')).toEqual(['archived canceled', 'live canceled']);
  await fixture.drain();
  expect(fixture.broker.labels.at(-1)).toBe('uncommitted');
});

test('a row of a rate stays while it counts, and goes with what is no longer sent or no longer exists', {
  tags: ['rate-kept'],
}, async () => {
  const { database } = at.fixture;
  const scopes = async () =>
    (await database.query<{ scope: string }>('select scope from outbox.rate order by 1')).map(
      ({ scope }) => scope,
    );
  const ratedAs = (name: string, per: Duration, of: 'topic' | 'address') =>
    policyOf(topic(name, z.unknown(), { address: name, rate: { messages: 5, per, of } }), 'http');
  await announceTopics(
    database,
    [
      ratedAs('long', '7 days', 'topic'),
      ratedAs('shared', '7 days', 'address'),
      ratedAs('short', '1s', 'topic'),
    ],
    {},
  );
  await database.query(
    `insert into outbox.rate (scope, sent_at, counts)
     select x.scope, array[now() - interval '9 days', now() - x.age], '{1,1}'
     from (values ('long', interval '6 days'), ('short', interval '2 days'), ('gone', interval '2 days'), ('going', interval '1 hour'),
       ('http ' || outbox.sha256('shared'), interval '6 days'), ('http ' || outbox.sha256('former'), interval '6 days')) x (scope, age)`,
  );
  const shared = await database.query<{ scope: string }>(
    `select 'http ' || outbox.sha256('shared') as scope`,
  );

  await at.archive();
  expect(await scopes()).toEqual(['going', shared[0]?.scope, 'long']);
});

test('what is noted of consumer groups goes once no relay has looked at their address for a month', async () => {
  const { database } = at.fixture;
  await database.query(
    `insert into outbox.group_look (transport, address, number, began_at)
     values ('kafka', 'old', 1, now() - interval '32 days'), ('kafka', 'new', 1, now() - interval '30 days')`,
  );
  await database.query(
    `insert into outbox.group_place (transport, address, consumer_group) values ('kafka', 'old', 'a'), ('kafka', 'new', 'a'), ('redis', 'old', 'a')`,
  );

  await at.archive();
  expect(await database.query('select transport, address from outbox.group_place order by 1')).toEqual([
    { transport: 'kafka', address: 'new' },
    { transport: 'redis', address: 'old' },
  ]);
  expect(await count('group_look')).toBe(1);
});
