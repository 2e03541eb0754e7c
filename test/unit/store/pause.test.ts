import { expect, test } from 'vitest';
import {
  pauseIfRunning,
  readLanesOf,
  readLeasedLanes,
  resumeOwn,
  setPaused,
} from '../../../src/store/lane/pause.ts';
import { isPaused, pinPartitions, readPartitions } from '../../../src/store/lane/topics.ts';
import { ScriptedDatabase } from '../../support/fixtures/scripted-database.ts';

const read = 'select paused from outbox.topic';
const write = 'update outbox.topic set paused = $2';
const used = 'select from outbox.topic where transport';
const known = 'insert into outbox.transport';
const transport = 'update outbox.transport set paused';
const audit = 'insert into outbox.audit';
const ifRunning = 'not outbox.is_paused(name) returning 1';
const lock = 'select from outbox.topic where name = $1 for update';
const since = `action = 'pause' and id > $2`;
const author = { actor: 'ann', reason: 'a test' };

function stage(paused = false) {
  const entries: Record<string, unknown>[] = [];
  const database = new ScriptedDatabase()
    .on(read, [{ paused }])
    .on(used, [{}])
    .on(transport, paused ? [] : [{}])
    .on(ifRunning, paused ? [] : [{}])
    .on(audit, ([json]) => {
      entries.push(...(JSON.parse(json as string) as Record<string, unknown>[]));
      return [{ id: '17' }];
    });
  for (const part of [write, known, lock, since]) database.on(part, []);
  return { database, entries };
}

test('a topic is paused and resumed once, with an entry that records whether anything changed', async () => {
  for (const [before, paused] of [
    [false, true],
    [true, false],
    [true, true],
    [false, false],
  ] as const) {
    const { database, entries } = stage(before);
    const changed = before !== paused;
    expect(await setPaused(database, { topic: 'orders' }, paused, author, { details: { n: 1 } })).toEqual({
      changed,
      auditId: '17',
    });
    expect(database.valuesOf(write)).toEqual(changed ? [['orders', paused]] : []);
    const [action, result] = [paused ? 'pause' : 'resume', changed ? 'done' : 'unchanged'];
    expect(entries).toMatchObject([
      { ...author, action, result, topic: 'orders', message_id: null, details: { n: 1 } },
    ]);
  }
});

test('a transport is paused whether known or not, and its entry names it', async () => {
  for (const before of [false, true]) {
    const { database, entries } = stage(before);
    const { changed } = await setPaused(database, { transport: 'kafka' }, true, author, {
      details: { n: 1 },
    });
    expect(changed).toBe(!before);
    expect(database.asked.map(({ part, values }) => [part, ...values]).slice(0, 3)).toEqual([
      [used, 'kafka'],
      [known, 'kafka'],
      [transport, 'kafka', true],
    ]);
    expect(entries).toMatchObject([
      {
        action: 'pause',
        result: before ? 'unchanged' : 'done',
        topic: null,
        details: { transport: 'kafka', n: 1 },
      },
    ]);
  }
});

test('an unannounced topic or unused transport is refused', async () => {
  const { database, entries } = stage();
  database.on(read, []).on(used, []);
  await expect(setPaused(database, { topic: 'none' }, true, author)).rejects.toMatchObject({
    code: 'OUTBOX_TOPIC_UNKNOWN',
    message: 'No relay has announced the topic "none".',
    details: { topic: 'none' },
  });
  await expect(setPaused(database, { transport: 'none' }, true, author)).rejects.toMatchObject({
    code: 'OUTBOX_TRANSPORT_UNKNOWN',
    message: 'No topic uses the transport "none".',
    details: { transport: 'none' },
  });
  expect(entries).toEqual([]);
});

test('a dry run is rolled back', async () => {
  const { database } = stage();
  let end = '';
  const transaction = database.transaction.bind(database);
  database.transaction = async (work) =>
    transaction(work).catch((error: unknown) => {
      end = 'rolled back';
      throw error;
    });
  const change = await setPaused(database, { topic: 'orders' }, true, author, { dryRun: true });
  expect(change.changed).toBe(true);
  expect(end).toBe('rolled back');
});

test('an own pause is audited only if the topic was running', async () => {
  const running = stage();
  expect(await pauseIfRunning(running.database, 'orders', author, { lane: 1 })).toBe('17');
  expect(running.entries).toMatchObject([
    { action: 'pause', result: 'done', topic: 'orders', details: { lane: 1 } },
  ]);
  const paused = stage(true);
  expect(await pauseIfRunning(paused.database, 'orders', author, {})).toBeUndefined();
  expect(paused.entries).toEqual([]);
});

test('an own pause ends, unless the topic was paused again or resumed since', async () => {
  for (const [paused, again, result] of [
    [true, false, 'done'],
    [true, true, 'left-paused'],
    [false, false, 'left-paused'],
  ] as const) {
    const { database, entries } = stage(paused);
    database.on(since, again ? [{}] : []);
    await resumeOwn(database, 'orders', '16', author);
    expect(database.valuesOf(since)).toEqual([['orders', '16']]);
    expect(database.asked[0]?.part).toBe(lock);
    expect(database.valuesOf(write)).toEqual(result === 'done' ? [['orders', false]] : []);
    expect(entries).toMatchObject([{ action: 'resume', result, topic: 'orders', details: { pause: '16' } }]);
    expect(database.asked.every(({ inTransaction }) => inTransaction)).toBe(true);
  }
});

test('lanes are those of a topic or of a transport', async () => {
  const [leased, all] = ['where outbox.lane_taken(l)', 'select topic, n as lane from outbox.lane'];
  const database = new ScriptedDatabase().on(leased, []).on(all, []);
  await readLeasedLanes(database, { topic: 'orders' });
  await readLanesOf(database, { transport: 'kafka' });
  expect(database.asked.map(({ values }) => values)).toEqual([
    ['orders', null],
    [null, 'kafka'],
  ]);
});

test('an unannounced topic is not paused and has no partitions, and the first number is pinned', async () => {
  const [paused, partitions, pin] = [
    'as paused',
    'select partitions from outbox.topic',
    'set partitions = $2',
  ];
  const database = new ScriptedDatabase().on(paused, []).on(partitions, []).on(pin, []);
  expect(await isPaused(database, 'none')).toBe(false);
  expect(await readPartitions(database, 'none')).toBeNull();
  expect(await pinPartitions(database, 'none', 4)).toBe(4);
  database.on(paused, [{ paused: true }]).on(partitions, [{ partitions: 9 }]);
  expect(await isPaused(database, 'orders')).toBe(true);
  expect(await pinPartitions(database, 'orders', 4)).toBe(9);
  expect(database.valuesOf(pin)).toEqual([
    ['none', 4],
    ['orders', 4],
  ]);
});
