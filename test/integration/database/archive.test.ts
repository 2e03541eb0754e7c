import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { State } from '../../../src/core/transitions.ts';
import { acquireLane, markSuspect } from '../../../src/store/lane/lease.ts';
import { type ArchiveFixture, archiveFixture } from '../../support/fixtures/archive-fixture.ts';
import { kindsOfMessages, turnNoLeaves } from '../../support/fixtures/leaves.ts';
import { readOutcome } from '../../support/fixtures/release-one.ts';

turnNoLeaves();

let at: ArchiveFixture;
beforeEach(async () => {
  at = await archiveFixture();
});
afterEach(() => at.fixture.drop());

const day = 24 * 60 * 60_000;

/** Puts a failed message into a state that only an operator or a receipt brings about. */
async function becomes(label: string, state: State): Promise<void> {
  await at.fixture.database.query(`update outbox.message set state = $2 where id = $1`, [
    at.fixture.idOf(label),
    state,
  ]);
}

/** Sends messages that the broker refuses for good. */
async function fail(...labels: readonly string[]): Promise<void> {
  at.fixture.broker.judge = (message) =>
    labels.includes(String(JSON.parse(message.payload))) ? 'permanent' : 'store';
  for (const label of labels) await at.fixture.send(label);
  await at.fixture.drain();
}

test('messages published, canceled, confirmed, superseded, discarded or expired a day ago move to the history as they were shown', async () => {
  const { fixture } = at;
  await fail('confirmed', 'superseded', 'discarded');
  await becomes('confirmed', 'confirmed');
  await becomes('superseded', 'superseded');
  await becomes('discarded', 'discarded');
  await fixture.send('passed', { key: 'k', headers: { a: 'b' } });
  await fixture.send('stored', { afterMs: 60_000 });
  await fixture.release('stored');
  await fixture.send('canceled', { afterMs: 60_000 });
  await fixture.cancel('canceled');
  await fixture.send('expired', { expiresAfterMs: 0 });
  await fixture.drain();
  const before = await fixture.database.query('select * from outbox.message_view order by position');
  await at.age('25 hours');

  expect(await at.archive()).toMatchObject({ archived: 7, complete: true });

  expect(
    await at.whereabouts('passed', 'stored', 'canceled', 'confirmed', 'superseded', 'discarded', 'expired'),
  ).toEqual([
    'archived published',
    'archived published',
    'archived canceled',
    'archived confirmed',
    'archived superseded',
    'archived discarded',
    'archived expired',
  ]);
  const after = await fixture.database.query<Record<string, unknown>>(
    'select * from outbox.message_all where archived_at is not null order by position',
  );
  const constant = [
    'id',
    'topic',
    'lane',
    'position',
    'key',
    'ref',
    'payload',
    'content_type',
    'headers',
    'state',
    'workflow_id',
    'expires_at',
  ];
  const pick = (row: Record<string, unknown>) =>
    Object.fromEntries(constant.map((name) => [name, row[name]]));
  expect(after.map(pick)).toEqual((before as readonly Record<string, unknown>[]).map(pick));
  expect(await fixture.database.query('select id from outbox.message')).toEqual([]);
  expect(await at.archive()).toMatchObject({ archived: 0 });
});

test.each([
  ['of the log', () => ({})],
  ['with an id of its sender', () => ({ id: randomUUID() })],
])(
  'a passed message %s takes the time from its batch, and also partition and offset if it was sent alone',
  async (_, options) => {
    const { fixture } = at;
    await fixture.send('alone', options());
    await fixture.drain();
    await fixture.send('one of two', options());
    await fixture.send('other of two', options());
    await fixture.drain();
    await at.age('25 hours');
    const batches = await fixture.database.query<{ at: Date }>(
      'select published_at as at from outbox.batch order by last_position',
    );
    await at.archive();

    const rows = await fixture.database.query(
      'select partition, "offset", published_at as at from outbox.message_all where archived_at is not null order by position',
    );
    expect(rows).toEqual([
      { partition: 0, offset: '0', at: batches[0]?.at },
      { partition: 0, offset: null, at: batches[1]?.at },
      { partition: 0, offset: null, at: batches[1]?.at },
    ]);
  },
);

test('messages younger than a day, or changed during the round, stay', async () => {
  const { fixture } = at;
  await fixture.send('old', { id: randomUUID() });
  await fixture.send('touched', { id: randomUUID() });
  await fixture.send('canceled', { afterMs: 60_000 });
  await fixture.cancel('canceled');
  await fixture.drain();
  await at.age('25 hours');
  await fixture.database.query('update outbox.message set updated_at = now() where id = $1', [
    fixture.idOf('touched'),
  ]);
  await fixture.send('young');
  await fixture.drain();
  await fixture.send('canceled now', { afterMs: 60_000 });
  await fixture.cancel('canceled now');

  expect(await at.archive()).toMatchObject({ archived: 2 });

  expect(await at.whereabouts('old', 'touched', 'canceled', 'young', 'canceled now')).toEqual([
    'archived published',
    'live published',
    'archived canceled',
    'live published',
    'live canceled',
  ]);
});

test('messages that wait, retry, are blocked or not passed stay, whatever their age', {
  tags: ['archive-blocks-nothing'],
}, async () => {
  const { fixture } = at;
  const refused = ['retrying'];
  fixture.broker.judge = (message) =>
    refused.includes(String(JSON.parse(message.payload))) ? 'reject' : 'store';
  await fixture.send('waiting', { afterMs: 60_000 });
  await fixture.send('retrying', { key: 'k' });
  await fixture.send('blocked', { key: 'k' });
  const open = await fixture.begin();
  await fixture.send('late', { id: randomUUID() }, open);
  await fixture.send('passed', { id: randomUUID() });
  await fixture.drain();
  await open.commit();
  await fixture.send('new', { id: randomUUID() });
  await at.age('25 hours');

  expect(await at.archive()).toMatchObject({ archived: 1 });

  expect(await at.whereabouts('waiting', 'retrying', 'blocked', 'late', 'passed', 'new')).toEqual([
    'live waiting',
    'live retrying',
    'live blocked',
    'live ready',
    'archived published',
    'live ready',
  ]);
  refused.length = 0;
  await fixture.release('retrying');
  await fixture.drain();
  expect(fixture.broker.labels).toEqual(expect.arrayContaining(['retrying', 'blocked', 'late', 'new']));
});

test('nothing is archived of a lane without a snapshot', async () => {
  const { fixture } = at;
  await fixture.send('passed');
  await fixture.drain();
  await at.age('25 hours');
  await fixture.database.query('update outbox.lane set snapshot = null');

  expect(await at.archive()).toMatchObject({ archived: 0 });
  expect(await at.whereabouts('passed')).toEqual(['live ready']);
});

test.each(kindsOfMessages)(
  'messages visible to a dead owner stay for a day after they were passed, even where archiving is sooner: $kind',
  async ({ everyMessage }) => {
    const { fixture } = at;
    fixture.everyMessage = everyMessage;
    const soon = { archiveAfterMs: 60_000 };
    await fixture.send('seen');
    await fixture.drain();
    const me = '00000000-0000-4000-8000-000000000001';
    await acquireLane(fixture.database, fixture.lane, me);
    await markSuspect(fixture.database, fixture.lane, me);
    await at.age('1 hour');
    expect(await at.archive(soon, { leafMs: 0 })).toMatchObject({ archived: 0 });

    await at.age('23 hours');
    expect(await at.archive(soon, { leafMs: 0 })).toMatchObject({ archived: 1 });
    expect((await fixture.laneRow()).suspect).not.toBeNull();
  },
);

test('failed messages stay unless the retention allows their removal, and always if they block their key', async () => {
  const { fixture } = at;
  await fail('failed');
  await at.age('100 days');
  expect(await at.archive()).toMatchObject({ archived: 0 });

  await fixture.database.query(`update outbox.topic set exhausted = 'block-key'`);
  expect(await at.archive({ archiveFailedAfterMs: day })).toMatchObject({ archived: 0 });

  await fixture.database.query(`update outbox.topic set exhausted = 'release-key'`);
  expect(await at.archive({ archiveFailedAfterMs: 101 * day })).toMatchObject({ archived: 0 });
  expect(await at.archive({ archiveFailedAfterMs: day })).toMatchObject({ archived: 1 });
  expect(await at.whereabouts('failed')).toEqual(['archived failed']);
});

test('of a topic with confirmation everything moves except what awaits a receipt', async () => {
  const { fixture } = at;
  await fixture.send('passed');
  await fixture.drain();
  await fixture.send('stored', { afterMs: 60_000 });
  await fixture.release('stored');
  await fixture.drain();
  await fixture.send('confirmed', { afterMs: 60_000 });
  await fixture.release('confirmed');
  await fixture.drain();
  await becomes('confirmed', 'confirmed');
  await fixture.database.query(
    `update outbox.topic set confirm_group = 'g', receipt_timeout_ms = '{1000}', confirm_max_sends = 3`,
  );
  await at.age('25 hours');

  await fixture.database.query(
    `insert into outbox.message (id, topic, lane, payload, state, workflow_id) values ($1, 'orders', 0, '{}', 'ready', 'w')`,
    [randomUUID()],
  );
  const [awaits] = await fixture.database.query<{ id: string }>(
    `update outbox.message set state = 'published', confirm_by = now(), updated_at = now() - interval '25 hours'
     where workflow_id = 'w' returning id`,
  );
  fixture.know('awaits', awaits?.id ?? '');

  // The first two were published before the topic asked for receipts.
  expect(await at.archive()).toMatchObject({ archived: 3 });
  expect(await at.whereabouts('passed', 'stored', 'confirmed', 'awaits')).toEqual([
    'archived published',
    'archived published',
    'archived confirmed',
    'live published',
  ]);
});

test('pages are small, and the next round continues one that ran out of time', async () => {
  const { fixture } = at;
  for (let n = 0; n < 25; n += 1) await fixture.send(`m${n}`, { id: randomUUID() });
  await fixture.drain();
  await at.age('25 hours');
  let pages = 0;

  expect(await at.archive({}, { pageRows: 10, withinMs: 0 })).toMatchObject({ archived: 0, complete: false });
  const outcome = await at.archive({}, { pageRows: 10, progress: () => (pages += 1) });

  expect(outcome).toMatchObject({ archived: 25, complete: true });
  expect(pages).toBeGreaterThanOrEqual(3);
});

test('a workflow that asks for an archived message gets its outcome', async () => {
  const { fixture } = at;
  const id = await fixture.send('stored', { afterMs: 60_000 });
  await fixture.release('stored');
  await fixture.drain();
  await at.age('25 hours');
  await at.archive();

  expect(await readOutcome(fixture.database, id)).toEqual({
    kind: 'done',
    state: 'published',
    partition: 0,
    offset: '0',
  });
});
