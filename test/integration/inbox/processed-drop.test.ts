import { expect, test } from 'vitest';
import type { Database } from '../../../src/store/database/database.ts';
import { carryKept, carryLive, dropEpoch, readEpochs } from '../../../src/store/inbox/epochs.ts';
import { noteExpired } from '../../../src/store/inbox/processed.ts';
import { noteArrivals } from '../../../src/store/inbox/receive.ts';
import { keepWindow } from '../../../src/store/inbox/window.ts';
import { dayMs, EpochFixture } from '../../support/fixtures/epoch-fixture.ts';
import { type KeptFixture, keptFixture } from '../../support/fixtures/kept-fixture.ts';

const pace = { patienceMs: 300, pauseMs: 0 };

test('an epoch is dropped only after the ids of its live and kept messages are carried over', async ({
  onTestFinished,
}) => {
  const fixture = await EpochFixture.create();
  onTestFinished(() => fixture.drop());
  const { database } = fixture;
  await fixture.mark(['kept']);
  await database.query(
    `insert into outbox.parked (consumer_group, message_id, state, topic, address, partition, "offset", wire, sent_at)
     values ('g', 'kept', 'failed', 'orders', 'orders', 0, '0', '{}', now())`,
  );
  await fixture.roll();
  const [ended] = await readEpochs(database);
  const epoch = ended?.epoch ?? '';

  expect((await carryLive(database, epoch)).complete).toBe(true);
  expect(await dropEpoch(database, epoch, pace)).toBe(false);
  expect(await fixture.mark(['kept'])).toEqual([]);
  expect((await carryKept(database, epoch)).complete).toBe(true);
  await database.query('update outbox.processed_epoch set live_done = false');
  expect(await dropEpoch(database, epoch, pace)).toBe(false);

  await database.query('update outbox.processed_epoch set live_done = true');
  expect(await dropEpoch(database, epoch, pace)).toBe(true);
  expect(await fixture.mark(['kept'])).toEqual([]);
});

test('an id that is carried over is still known as expired and has its end, of live messages and of a kept one', async ({
  onTestFinished,
}) => {
  const fixture = await EpochFixture.create();
  onTestFinished(() => fixture.drop());
  const { database } = fixture;
  const [sent] = await database.query<{ id: string }>(`select id from outbox.send('orders', '1')`);
  const live = sent?.id ?? '';
  const [other] = await database.query<{ id: string }>(
    `select '/outbox/' || (select id from outbox.installation) || '|' || id as id
     from outbox.send('orders', '1', id => gen_random_uuid())`,
  );
  const ids = [other?.id ?? '', live, 'kept'];
  await fixture.mark(ids);
  await noteExpired(database, 'g', ids);
  const endedAt = new Date('2026-01-02T03:04:05Z');
  await database.query(`select outbox.note_ended('g', $1, $2)`, [ids, endedAt]);
  await database.query(
    `insert into outbox.parked (consumer_group, message_id, state, topic, address, partition, "offset", wire, sent_at)
     values ('g', 'kept', 'discarded', 'orders', 'orders', 0, '0', '{}', now())`,
  );
  await fixture.roll();
  const epoch = (await readEpochs(database))[0]?.epoch ?? '';
  await carryLive(database, epoch);
  await carryKept(database, epoch);
  expect(await dropEpoch(database, epoch, pace)).toBe(true);

  const left = await database.query(
    'select message_id as id, expired, ended_at as "endedAt" from outbox.processed order by 1',
  );
  expect(left).toEqual(ids.map((id) => ({ id, expired: true, endedAt })));
});

function pass(database: Database, days: number): Promise<unknown> {
  return database.query(
    `update outbox.processed_epoch set begun_at = begun_at - $1 * interval '1 day', ended_at = ended_at - $1 * interval '1 day'`,
    [days],
  );
}

function keepIds(database: Database): ReturnType<typeof keepWindow> {
  return keepWindow(database, { windowMs: 30 * dayMs, signal: new AbortController().signal, pauseMs: 0 });
}

function arrive({ database, group }: KeptFixture, id: string): ReturnType<typeof noteArrivals> {
  return database.transaction((sql) => noteArrivals(sql, group, [{ id, topic: 'orders', key: 'K' }]));
}

test('the ids of an edited message are refused for a window after the effect of its last copy', {
  tags: ['window-kept'],
}, async (end) => {
  const fixture = await keptFixture(end);
  const { database, group, operator } = fixture;
  const original = await fixture.keep('1');
  const edit = { actor: 'ada', reason: 'a typing error', payload: { n: 2 } };
  const { id: first } = await operator.inbox.edit({ group, id: original }, edit);
  const { id: second } = await operator.inbox.edit({ group, id: first }, edit);
  await database.query('select outbox.roll_processed(0, 300, 0)');
  await pass(database, 31);
  await database.query(
    `update outbox.parked set updated_at = updated_at - interval '31 days' where state = 'superseded'`,
  );

  expect(await fixture.drain(second)).toEqual([second]);

  expect(await keepIds(database)).toMatchObject({ deleted: 2, dropped: 1, complete: true });
  await pass(database, 29);
  expect(await keepIds(database)).toMatchObject({ dropped: 0 });
  for (const id of [original, first, second]) expect(await arrive(fixture, id)).toEqual(['processed']);
  await pass(database, 2);
  expect(await keepIds(database)).toMatchObject({ dropped: 1 });
  expect(await arrive(fixture, original)).toEqual(['new']);
});

test('the id of a message that was parked for longer than the window is refused for a window after its effect', {
  tags: ['window-kept'],
}, async (end) => {
  const fixture = await keptFixture(end);
  const { database } = fixture;
  const id = await fixture.keep('1');
  await database.query('select outbox.roll_processed(0, 300, 0)');
  await pass(database, 31);

  expect(await fixture.drain(id)).toEqual([id]);

  expect(await keepIds(database)).toMatchObject({ dropped: 1, complete: true });
  await pass(database, 29);
  expect(await keepIds(database)).toMatchObject({ dropped: 0 });
  expect(await arrive(fixture, id)).toEqual(['processed']);
  await pass(database, 2);
  expect(await keepIds(database)).toMatchObject({ dropped: 1 });
  expect(await arrive(fixture, id)).toEqual(['new']);
});
