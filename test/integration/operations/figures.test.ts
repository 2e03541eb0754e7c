import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { CertificateEnd } from '../../../src/core/certificate-end.ts';
import type { NotedFigures } from '../../../src/store/figures/figures.ts';
import { beginFiguresLook, noteFigures, readFiguresNote } from '../../../src/store/figures/figures-look.ts';
import { readFigures } from '../../../src/store/figures/read-figures.ts';
import { readGroupNames, writeRelay } from '../../../src/store/installation/relays.ts';
import { writeReconciliation } from '../../../src/store/verify/reconciliation.ts';
import { FigureLooks } from '../../../src/watch/figure-looks.ts';
import { archiveOf } from '../../support/fixtures/archive-fixture.ts';
import { confirmFixture } from '../../support/fixtures/confirm-fixture.ts';
import { keptFixture } from '../../support/fixtures/kept-fixture.ts';
import { eachLane, type LaneFixture, ownLane } from '../../support/fixtures/lane-fixture.ts';
import { turnNoLeaves } from '../../support/fixtures/leaves.ts';
import { quietFigures, quietRelay } from '../../support/fixtures/quiet-figures.ts';
import { until } from '../../support/fixtures/until.ts';

turnNoLeaves();

let emptied: LaneFixture;
eachLane((lane) => {
  emptied = lane;
});

const healthy = { server: 'kafka', address: 'kafka:9092', error: null };

test('the figures of an empty outbox are all quiet', async () => {
  const lanes = emptied;

  expect(await readFigures(lanes.database)).toEqual({
    ...quietFigures,
    due: [{ topic: 'orders', announced: true, oldestDueMs: null, reason: null }],
    relays: 0,
  });
});

test('figures count messages, tries, holds, stalls, overdue receipts, leaves, drift and servers', async () => {
  const lanes = await ownLane({ retry: ['1h'] });
  const { database } = lanes;
  await lanes.send('published');
  await lanes.drain();
  lanes.broker.judge = () => 'permanent';
  await lanes.send('failed');
  await lanes.drain();
  lanes.broker.judge = () => 'reject';
  await lanes.send('retrying', { key: 'R' });
  await lanes.drain();
  await database.query(
    `update outbox.message set due_at = outbox.clock() - interval '1 minute' where state = 'retrying'`,
  );
  await lanes.send('waiting', { afterMs: 3_600_000 });
  const heldSince = new Date(Date.now() - 90_000).toISOString();
  await database.query(`update outbox.lane set hold = $1::jsonb`, [
    JSON.stringify({ scope: 'topic', reason: 'no leader', since: heldSince }),
  ]);
  await database.query(
    `insert into outbox.group_place (transport, address, consumer_group, places) values
       ('memory', 'orders', 'billing', jsonb_build_object('0', jsonb_build_object('at', '5', 'standsMs', 120000,
          'sinceMs', extract(epoch from outbox.clock()) * 1000 - 120000))),
       ('memory', 'orders', 'at the end', '{}')`,
  );
  await database.query(
    `insert into outbox.group_place (transport, address, consumer_group, places, looked_at)
     select transport, address, 'gone', places, clock_timestamp() - interval '11 minutes' from outbox.group_place where places <> '{}'`,
  );
  await database.query(
    `update outbox.leaf set closed_at = outbox.clock() - interval '2 days', messages = 1, newest_at = outbox.clock() - interval '2 days'`,
  );
  await writeReconciliation(database, {
    tookMs: 1,
    thorough: true,
    resume: null,
    rows: 0,
    workflows: 0,
    checkedRows: 0,
    checkedWorkflows: 0,
    restarted: 3,
    ended: 4,
  });
  const seen = { ...quietRelay, lags: [{ group: 'billing', topic: 'orders', messages: 12 }] };
  const away = { server: 'Temporal', address: 'temporal:7233', error: 'no answer' };
  for (const id of [randomUUID(), randomUUID()])
    await writeRelay(database, { ...seen, id, servers: [away, healthy] });

  const figures = await readFigures(database, { archiveAfterMs: 24 * 60 * 60_000 });

  expect(figures).toMatchObject({
    messages: expect.arrayContaining([
      { topic: 'orders', state: 'failed', messages: 1 },
      { topic: 'orders', state: 'retrying', messages: 1 },
      { topic: 'orders', state: 'waiting', messages: 1 },
    ]),
    tries: { published: 1, failed: 2 },
    holds: [{ topic: 'orders', lanes: 1, scope: 'topic', reason: 'no leader' }],
    lags: [{ group: 'billing', topic: 'orders', messages: 12 }],
    standing: [{ group: 'billing', topic: 'orders' }],
    archive: { leaves: 1 },
    drift: { restarted: 3, ended: 4 },
    servers: [
      { server: 'Temporal', relays: 2, answering: 0, error: 'no answer', awayMs: 0 },
      { server: 'kafka', relays: 2, answering: 2, error: null, awayMs: null },
    ],
    relays: 2,
  });
  expect(figures.messages).toHaveLength(3);
  const about = (ms: number | null | undefined, wanted: number): void => {
    expect(ms).toBeGreaterThanOrEqual(wanted - 1);
    expect(ms).toBeLessThan(wanted + 60_000);
  };
  about(figures.oldestDueMs, 60_000);
  about(figures.unreleasedMs, 60_000);
  about(figures.holds[0]?.heldMs, 90_000);
  about(figures.standing[0]?.standsMs, 120_000);
  about(figures.archive.behindMs, 24 * 60 * 60_000);
});

test('figures count overdue receipts by topic, and not those that are not due', async ({
  onTestFinished,
}) => {
  const confirm = await confirmFixture();
  onTestFinished(() => confirm.lanes.drop());
  await confirm.publish('K', 'first', 'second', 'in time');
  await confirm.expire('first', 'second');

  const { receiptsOverdue } = await readFigures(confirm.lanes.database);

  expect(receiptsOverdue).toEqual([{ topic: 'orders', messages: 2, oldestMs: expect.any(Number) }]);
  expect(receiptsOverdue[0]?.oldestMs).toBeGreaterThanOrEqual(60_000);
});

test('figures count what groups keep', async (context) => {
  const kept = await keptFixture(context);
  await kept.keep('a');
  await kept.keep('b', { key: 'other', state: 'failed' });

  expect((await readFigures(kept.database)).groups).toMatchObject([
    { group: kept.group, parked: 1, parkedKeys: 1, failed: 1 },
  ]);
});

test('the row that the retention keeps for all groups together is no group: brokers refuse its name', async () => {
  const lanes = await ownLane();
  const archive = archiveOf(lanes);
  const { database } = lanes;
  await database.query(`insert into outbox.consumer_group values ('billing', 1000, outbox.clock())`);

  await archive.archive();

  expect(await database.query('select from outbox.consumer_group')).toHaveLength(2);
  expect(await readGroupNames(database)).toEqual(['billing']);
  expect((await readFigures(database)).groups).toMatchObject([{ group: 'billing' }]);
});

test('figures have of each certificate that living relays have loaded the end that comes first', async () => {
  const lanes = emptied;
  const { database } = lanes;
  const inHours = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString();
  const about = { server: 'kafka' } as const;
  const write = (certificates: readonly CertificateEnd[], id = randomUUID()) =>
    writeRelay(database, { ...quietRelay, id, certificates });
  await write([
    { ...about, whose: 'authority', until: inHours(20) },
    { ...about, whose: 'client', until: inHours(30) },
  ]);
  await write([{ ...about, whose: 'authority', until: inHours(10) }]);
  const dead = randomUUID();
  await write([{ ...about, whose: 'authority', until: inHours(1) }], dead);
  await database.query(`update outbox.relay set seen_at = seen_at - interval '1 minute' where id = $1`, [
    dead,
  ]);

  const { certificates } = await readFigures(database);

  expect(certificates).toMatchObject([
    { ...about, whose: 'authority' },
    { ...about, whose: 'client' },
  ]);
  expect(certificates.map(({ leftMs }) => Math.ceil(leftMs / 3_600_000))).toEqual([10, 30]);
});

test('the time for which a server is away goes on from one reading to the next, and ends when it answers', async () => {
  const lanes = emptied;
  const { database } = lanes;
  const id = randomUUID();
  const say = (error: string | null) =>
    writeRelay(database, { ...quietRelay, id, servers: [{ ...healthy, error }] });
  const read = async () => {
    const number = await beginFiguresLook(database, 0);
    const figures = await readFigures(database);
    await noteFigures(database, number ?? '', figures);
    return figures.servers[0]?.awayMs;
  };
  await say('refused');
  expect(await read()).toBe(0);
  await database.query(`update outbox.figures set noted_at = noted_at - interval '40 s'`);
  const second = await read();
  expect(second).toBeGreaterThanOrEqual(40_000);
  await database.query(`update outbox.figures set noted_at = noted_at - interval '40 s'`);
  expect(await read()).toBeGreaterThanOrEqual((second ?? 0) + 40_000);
  await say(null);
  expect(await read()).toBeNull();
});

test('one relay of two reads the figures of an interval, and both see them', {
  tags: ['alerts-told-once'],
}, async () => {
  const lanes = emptied;
  const { database } = lanes;
  const seen: [NotedFigures[], NotedFigures[]] = [[], []];
  const errors: unknown[] = [];
  const looks = seen.map(
    (mine) =>
      new FigureLooks({
        database,
        everyMs: 200,
        report: (event) => errors.push(event),
        seen: (noted) => void mine.push(noted),
      }),
  );
  for (const look of looks) look.start();
  await until(async () => seen.every((each) => each.length >= 5));
  await Promise.all(looks.map((look) => look.stop()));

  const [row] = await database.query<{ number: string }>('select number::text from outbox.figures');
  const rounds = Number(row?.number);
  // Each relay looked once per interval, so that both together have looked about twice as often as anything was read.
  expect(rounds).toBeLessThan(seen[0].length + seen[1].length);
  expect(seen[0].at(-1)?.figures.relays).toBe(0);
  expect(seen.every((mine) => new Set(mine.map(({ number }) => number)).size >= 3)).toBe(true);
  expect(errors).toEqual([]);
});

test('figures of a reading that takes longer than the interval are noted', {
  tags: ['alerts-told-once'],
}, async () => {
  const lanes = emptied;
  const { database } = lanes;
  const slow = await beginFiguresLook(database, 0);
  const next = await beginFiguresLook(database, 0);
  const figures = await readFigures(database);

  expect(await noteFigures(database, slow ?? '', { ...figures, relays: 1 })).toBe(true);
  expect(await readFiguresNote(database)).toMatchObject({ number: slow, figures: { relays: 1 } });
  expect(await noteFigures(database, next ?? '', { ...figures, relays: 2 })).toBe(true);
  expect(await readFiguresNote(database)).toMatchObject({ number: next, figures: { relays: 2 } });
});

test('figures of a reading that a later one has overtaken are not noted', async () => {
  const lanes = emptied;
  const { database } = lanes;
  const slow = await beginFiguresLook(database, 0);
  expect(await beginFiguresLook(database, 60_000)).toBeUndefined();
  const figures = await readFigures(database);
  const fast = await beginFiguresLook(database, 0);

  expect(await noteFigures(database, fast ?? '', { ...figures, relays: 2 })).toBe(true);
  expect(await noteFigures(database, slow ?? '', { ...figures, relays: 1 })).toBe(false);

  expect((await readFiguresNote(database))?.figures.relays).toBe(2);
});

test('a clock that was set back by an hour stops no reading, and makes no figures fresh', {
  tags: ['set-back-clock-silences-nothing'],
}, async () => {
  const lanes = emptied;
  const { database } = lanes;
  const number = await beginFiguresLook(database, 0);
  await noteFigures(database, number ?? '', await readFigures(database));
  await database.query(
    `update outbox.figures set began_at = began_at + interval '1 hour', noted_at = noted_at + interval '1 hour'`,
  );

  expect((await readFiguresNote(database))?.agoMs).toBeGreaterThan(3_000_000);
  expect(await beginFiguresLook(database, 60_000)).toBe('2');
  expect(await beginFiguresLook(database, 60_000)).toBeUndefined();
  // What is ahead by less than the interval has just begun.
  await database.query(`update outbox.figures set began_at = clock_timestamp() + interval '30 seconds'`);
  expect(await beginFiguresLook(database, 60_000)).toBeUndefined();
});
