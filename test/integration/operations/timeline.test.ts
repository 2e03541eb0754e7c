import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { type MessageDetails, operations } from '../../../src/operations.ts';
import { park } from '../../../src/store/inbox/park.ts';
import { noteArrivals } from '../../../src/store/inbox/receive.ts';
import { archiveOf } from '../../support/fixtures/archive-fixture.ts';
import { awake } from '../../support/fixtures/awake.ts';
import { type KeptFixture, keptFixture } from '../../support/fixtures/kept-fixture.ts';
import { type LaneFixture, ownLane } from '../../support/fixtures/lane-fixture.ts';
import { ada } from '../../support/fixtures/operator.ts';

type End = Parameters<typeof keptFixture>[0];

/** Operations on the lane's database, with these groups elsewhere. */
async function show(
  { onTestFinished }: End,
  lane: LaneFixture,
  groups: Readonly<Record<string, string>>,
  id: string,
): Promise<MessageDetails | undefined> {
  const at = operations({
    database: { url: lane.url },
    groups: Object.fromEntries(Object.entries(groups).map(([name, url]) => [name, { database: { url } }])),
  });
  onTestFinished(() => at.close());
  return at.show(id);
}

const told = (details: MessageDetails | undefined): readonly string[] =>
  (details?.timeline ?? []).map(({ what, where }) => `${where}: ${what}`);

/** Parks a message as the consumer of the group does. */
async function parkAs({ database, group }: KeptFixture, id: string): Promise<void> {
  await database.transaction(async (sql) => {
    await noteArrivals(sql, group, [{ id, topic: 'orders', key: 'K' }]);
    const kept = {
      id,
      topic: 'orders',
      key: 'K',
      address: 'orders.address',
      partition: 0,
      offset: '7',
      wire: JSON.stringify({ key: 'K', headers: { ce_id: id } }),
      body: null,
      sentAt: new Date(),
      state: 'failed' as const,
      blocksKey: false,
      attempts: 1,
      reason: 'error',
      error: 'Error: the bank is closed',
    };
    await park(sql, group, [kept], 0);
  });
}

test('a timeline goes from the stored row through retries and the broker to the effect in the database of a group', {
  tags: ['timeline-is-honest'],
}, async (end) => {
  const [lane, inbox] = [await ownLane(), await keptFixture(end)];
  const id = await lane.send('A', { key: 'K', afterMs: 3_600_000 });
  lane.broker.judge = () => 'reject';
  await lane.release('A');
  await lane.drain();
  lane.broker.judge = () => 'store';
  await lane.release('A');
  await lane.drain();
  const groups = { [inbox.group]: inbox.url };
  const group = `group ${inbox.group}`;
  const before = [
    'outbox: stored',
    'Temporal: workflow',
    'outbox: attempt',
    'outbox: due',
    'outbox: gap',
    'broker: published',
  ];

  const early = await show(end, lane, groups, id);
  expect(told(early)).toEqual([...before, `${group}: gap`]);

  await parkAs(inbox, id);
  const kept = await show(end, lane, groups, id);
  expect(told(kept)).toEqual([...before, `${group}: parked`, `${group}: failed`]);
  expect(kept?.why).toMatchObject({
    code: 'kept-by-group',
    text: expect.stringContaining(
      `the group ${inbox.group} keeps it, failed. It failed: Error: the bank is closed.`,
    ),
    next: expect.stringContaining(`temporal-outbox inbox show ${id} --group ${inbox.group}`),
  });

  await inbox.operator.inbox.retry({ group: inbox.group, ids: [id] }, ada);
  await inbox.drain(id);
  const done = await show(end, lane, groups, id);
  expect(told(done)).toEqual([...before, `${group}: parked`, `${group}: operator`, `${group}: handled`]);
  const [parked, , handled] = (done?.timeline ?? []).filter(({ where }) => where === group);
  expect(handled).toMatchObject({ detail: 'effect committed', at: expect.any(Date) });
  expect(Number(handled?.at), 'the effect has a time of its own').toBeGreaterThan(Number(parked?.at));
  expect(done?.why).toEqual({
    code: 'handled',
    text: `It is published; the group ${inbox.group} committed the effect.`,
  });
});

test('a group whose database is silent is a gap within seconds, and hides nothing else', {
  tags: ['timeline-is-honest'],
}, async (end) => {
  const [lane, inbox] = [await ownLane(), await keptFixture(end)];
  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  end.onTestFinished(async () => void silent.close());
  const address = silent.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  const id = await lane.send('A', { key: 'K' });
  await lane.drain();
  await inbox.database.transaction((sql) =>
    noteArrivals(sql, inbox.group, [{ id, topic: 'orders', key: 'K' }]),
  );
  const awakeMs = awake();

  const shown = await show(
    end,
    lane,
    { [inbox.group]: inbox.url, gone: `postgresql://x:secret@127.0.0.1:${port}/none` },
    id,
  );

  expect(awakeMs()).toBeLessThan(6_000);
  expect(told(shown)).toContain(`group ${inbox.group}: handled`);
  expect(shown?.timeline).toContainEqual({
    at: null,
    what: 'gap',
    where: 'group gone',
    detail: 'Not known: its database does not answer within 3 s.',
  });
  expect(shown?.why.code).toBe('group-away');
  expect(JSON.stringify(shown)).not.toContain('secret');
});

test('a message that only a group knows is shown from there, and one that nobody knows is not', async (end) => {
  const [lane, inbox] = [await ownLane(), await keptFixture(end)];
  const [known, unknown] = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002'];
  await parkAs(inbox, known);
  const groups = { [inbox.group]: inbox.url };

  const shown = await show(end, lane, groups, known);

  expect(shown).toMatchObject({ message: null, why: { code: 'kept-by-group' } });
  expect(told(shown)).toEqual([`group ${inbox.group}: parked`, `group ${inbox.group}: failed`]);
  expect(await show(end, lane, groups, unknown)).toBeUndefined();
});

test('an archived message has its time of publishing and of archiving in its timeline', async (end) => {
  const fixture = await ownLane();
  const aged = archiveOf(fixture);
  const id = await fixture.send('A', { ref: 'r' });
  await fixture.drain();
  await aged.age('30 days');
  await aged.archive();

  const shown = await show(end, fixture, {}, id);

  expect(shown?.message?.archivedAt).toBeInstanceOf(Date);
  expect(told(shown)).toEqual([
    'outbox: stored',
    'Temporal: workflow',
    'broker: published',
    'outbox: archived',
  ]);
});
