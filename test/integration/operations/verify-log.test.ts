import { expect, onTestFinished, test } from 'vitest';
import { operations } from '../../../src/operations.ts';
import { archiveLeaf, dropLeaf } from '../../../src/store/retention/leaf.ts';
import { turnLeaf, turnNoLeaves } from '../../support/fixtures/leaves.ts';
import { ada } from '../../support/fixtures/operator.ts';
import {
  eachVerifiedLane,
  hashOf,
  ownVerifiedLane,
  type VerifyFixture,
} from '../../support/fixtures/verify-fixture.ts';

turnNoLeaves();

let world: VerifyFixture;
eachVerifiedLane((made) => {
  world = made;
});

test('a clean run keeps every promise and counts the examined messages', async () => {
  for (const label of ['a', 'b', 'c']) await world.fixture.send(label, { key: 'k' });
  await world.fixture.send('delayed', { key: 'd', afterMs: 1_000 });
  await world.fixture.release('delayed');
  await world.deliver();
  await world.fixture.send('waiting', { afterMs: 3_600_000 });
  await world.fixture.send('canceled', { afterMs: 3_600_000 });
  await world.fixture.cancel('canceled');
  await world.fixture.send('ready');

  const { ok, records, unreadTopics, invariants } = await world.check({ maxDuplicates: 0 });
  expect(invariants.filter((result) => !result.ok)).toEqual([]);
  expect({ ok, records, unreadTopics }).toEqual({ ok: true, records: 4, unreadTopics: [] });
  expect(invariants.map(({ invariant, checked }) => [invariant, checked])).toEqual([
    ['I1 no loss', 4],
    ['I2 no ghost', 4],
    ['I3 order per key', 4],
    ['I5 canceled is not published', 1],
    ['I6 never early', 1],
    ['I9 legal states', 7],
    ['I9 guards, indexes and lanes', 33],
    ['I11 duplicates', 4],
    ['I14 audit as written', 0],
  ]);
});

test('I1: a published message that is not in the log is lost, whether its lane passed it or its row is published', async () => {
  await world.fixture.send('passed');
  await world.fixture.send('stored', { afterMs: 1_000 });
  await world.fixture.release('stored');
  await world.deliver();
  world.log = [];
  const { violations, first } = await world.broken('I1 no loss');
  expect(violations).toBe(2);
  expect(new Set(first.map(({ id }) => id))).toEqual(
    new Set([world.fixture.idOf('passed'), world.fixture.idOf('stored')]),
  );
});

test('I1: a message of an archived leaf that is not in the log is lost', async () => {
  world = await ownVerifiedLane();
  const { database } = world.fixture;
  await world.fixture.send('archived');
  await world.deliver();
  await turnLeaf(database);
  await archiveLeaf(database, '1');
  expect((await world.check()).ok).toBe(true);
  world.log = [];
  expect(await world.broken('I1 no loss')).toMatchObject({ violations: 1 });
});

test('I1: an overdue message is late, not lost; messages older than the log are not judged', async () => {
  await world.fixture.send('old');
  await world.deliver();
  await world.fixture.send('overdue');
  await world.age('overdue', '5 minutes');
  world.log = [];
  world.truncated = true;
  const report = await world.check();
  expect(report.invariants[0]).toMatchObject({ ok: true, checked: 0, notes: { late: 1, notJudged: 1 } });
  world.truncated = false;
  expect((await world.check({ since: new Date(Date.now() + 60_000) })).invariants[0]).toMatchObject({
    checked: 0,
  });
});

test('I2: a record whose message was expunged is no ghost', async () => {
  world = await ownVerifiedLane();
  const id = await world.fixture.send('sent', { key: 'k' });
  await world.deliver();
  const at = operations({ database: { url: world.fixture.url } });
  onTestFinished(() => at.close());
  expect(await at.expunge({ ids: [id] }, ada)).toMatchObject([{ result: 'expunged' }]);
  expect(await world.check()).toMatchObject({ ok: true, records: 1 });
});

test('I2: records of dropped leaves are not judged, late ones included', { tags: ['no-ghost'] }, async () => {
  world = await ownVerifiedLane();
  const { database } = world.fixture;
  await world.fixture.send('first');
  await turnLeaf(database);
  await world.fixture.send('second');
  await turnLeaf(database);
  // Both are published after the leaves behind theirs were opened.
  await world.deliver();
  await turnLeaf(database);
  const result = async () =>
    (await world.check()).invariants.find(({ invariant }) => invariant === 'I2 no ghost');
  expect(await result()).toMatchObject({ ok: true, checked: 2, notes: { notJudged: 0 } });

  for (const n of ['1', '2']) expect(await archiveLeaf(database, n)).toBe('done');
  // Somebody keeps a lock on the first one.
  expect(await dropLeaf(database, '2')).toBe('done');
  expect(await result()).toMatchObject({ ok: true, checked: 2, notes: { notJudged: 1 } });
  expect(await dropLeaf(database, '1')).toBe('done');
  expect(await result()).toMatchObject({ ok: true, checked: 2, notes: { notJudged: 2 } });

  await world.fixture.send('third');
  await turnLeaf(database);
  await world.deliver();
  world.repeat({ id: '00000000-0000-7000-8000-000000000001', at: new Date(Date.now() + 1_000) });
  expect(await result()).toMatchObject({ ok: false, violations: 1, notes: { notJudged: 2 } });
  // What was dropped stays known when the leaf that was current then is dropped, too.
  await turnLeaf(database);
  await archiveLeaf(database, '3');
  await database.query(`update outbox.leaf set archived_at = archived_at - interval '1 day' where n = 3`);
  expect(await dropLeaf(database, '3')).toBe('done');
  world.log = world.log.slice(0, 2);
  expect(await result()).toMatchObject({ ok: true, notes: { notJudged: 2 } });
});

test('I2: a record without a row is a ghost, and so is one with another payload, key or topic', async () => {
  await world.fixture.send('a', { key: 'k' });
  await world.deliver();
  const stranger = '00000000-0000-7000-8000-000000000001';
  world.repeat({ id: stranger });
  world.repeat({ payloadHash: 'f'.repeat(64) });
  world.repeat({ key: 'other' });
  world.repeat({ type: 'other' });
  world.repeat({ id: 'nonsense' });
  const { violations, first } = await world.broken('I2 no ghost');
  expect(violations).toBe(5);
  expect(new Set(first.map(({ what }) => what))).toEqual(
    new Set([
      'No row has this id.',
      'The record has another key.',
      'The record has another payload.',
      'The record orders: 0/5 has no id of a message.',
      'The record says the topic other.',
    ]),
  );
});

test('I2: records of other systems are ignored', async () => {
  world.log.push({
    address: world.fixture.topic,
    partition: 0,
    offset: '0',
    at: new Date(),
    id: null,
    key: null,
    source: '/somebody/else',
    type: null,
    payloadHash: '',
  });
  const report = await world.check();
  expect(report.ok).toBe(true);
  expect(report.invariants[1]).toMatchObject({ checked: 0, notes: { foreign: 1 } });
});

test('I3: a message behind one that was sent long after it is out of order', async () => {
  await world.fixture.send('first', { key: 'k' });
  await world.fixture.send('second', { key: 'k' });
  await world.age('first', '5 minutes');
  await world.deliver();
  expect((await world.check()).ok).toBe(true);
  world.reverse();
  expect(await world.broken('I3 order per key')).toMatchObject({
    violations: 1,
    first: [{ id: world.fixture.idOf('first') }],
  });
});

test('I3: an inversion of sends that may have overlapped is undecided, and counted', async () => {
  await world.fixture.send('first', { key: 'k' });
  await world.fixture.send('second', { key: 'k' });
  await world.deliver();
  world.reverse();
  const report = await world.check();
  expect(report.ok).toBe(true);
  expect(report.invariants[2]).toMatchObject({ checked: 2, notes: { undecided: 1 } });
});

test('I3: a message overtaken after a failed attempt is out of order, unless an operator retried it', async () => {
  await world.fixture.send('first', { key: 'k' });
  world.fixture.broker.judge = () => 'reject';
  await world.deliver();
  await world.fixture.send('second', { key: 'k' });
  world.fixture.broker.judge = () => 'store';
  await world.fixture.release('first');
  await world.deliver();
  await world.deliver();
  expect(world.log.map(({ id }) => id)).toEqual([world.fixture.idOf('first'), world.fixture.idOf('second')]);
  expect((await world.check()).ok).toBe(true);
  world.reverse();
  expect(await world.broken('I3 order per key')).toMatchObject({
    first: [{ id: world.fixture.idOf('first') }],
  });
  await world.fixture.database.query(
    `insert into outbox.audit (actor, action, message_id, result) values ('test', 'retry', $1, 'retried')`,
    [world.fixture.idOf('first')],
  );
  expect((await world.check()).ok).toBe(true);
});

test('I3: messages of one statement have an order, and a key stays in its partition', async () => {
  await world.fixture.database.query(
    `select outbox.send_batch('orders', '[{"payload":"1","key":"k"},{"payload":"2","key":"k"}]')`,
  );
  await world.deliver();
  const inOrder = world.log;
  world.reverse();
  await world.broken('I3 order per key');
  world.log = inOrder.map((record, index) => ({ ...record, partition: index }));
  expect(await world.broken('I3 order per key')).toMatchObject({
    first: [{ what: 'The key lies in 2 partitions.' }],
  });
  await world.fixture.database.query(
    `insert into outbox.audit (actor, action, topic, result) values ('test', 'partitions', 'orders', 'done')`,
  );
  expect((await world.check()).ok).toBe(true);
});

test('I5: a canceled message in the log is named', async () => {
  await world.fixture.send('sent');
  await world.deliver();
  await world.fixture.send('canceled', { afterMs: 3_600_000 });
  await world.fixture.cancel('canceled');
  const payloadHash = hashOf('"canceled"');
  world.repeat({ id: world.fixture.idOf('canceled'), payloadHash });
  expect(await world.broken('I5 canceled is not published')).toMatchObject({
    first: [{ id: world.fixture.idOf('canceled') }],
  });
});

test('I6: a message published before it was due is early, by the clock of the database and by that of the log', async () => {
  for (const label of ['by row', 'by log']) {
    await world.fixture.send(label, { afterMs: 1_000 });
    await world.fixture.release(label);
  }
  await world.deliver();
  expect((await world.check()).ok).toBe(true);
  await world.fixture.database.query(
    `update outbox.message set due_at = published_at + interval '1 ms' where id = $1`,
    [world.fixture.idOf('by row')],
  );
  world.log = world.log.map((record) =>
    record.id === world.fixture.idOf('by log') ? { ...record, at: new Date(Date.now() - 30_000) } : record,
  );
  const { first } = await world.broken('I6 never early');
  expect(new Map(first.map(({ what, id }) => [id, what]))).toEqual(
    new Map([
      [world.fixture.idOf('by log'), 'In the log before it was due.'],
      [world.fixture.idOf('by row'), 'Published before it was due, by the clock of the database.'],
    ]),
  );
});

test('I11: duplicates are counted, and break the promise only above the given share', async () => {
  await world.fixture.send('a');
  await world.deliver();
  world.repeat();
  const report = await world.check({ maxDuplicates: 0.5 });
  expect(report.ok).toBe(true);
  expect(report.invariants.find(({ invariant }) => invariant === 'I11 duplicates')).toMatchObject({
    checked: 2,
    notes: { duplicates: 1 },
  });
  expect(await world.broken('I11 duplicates', { maxDuplicates: 0.4 })).toMatchObject({ violations: 1 });
});

test('a verification waits for a log that stays silent longer than other transactions may', async () => {
  await world.fixture.send('a');
  await world.deliver();
  world.silentMs = 5_500;

  expect(await world.check()).toMatchObject({ ok: true, records: 1 });
});
