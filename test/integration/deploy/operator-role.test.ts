import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, inject, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { apiSessions } from '../../../src/app/operations/api-sessions.ts';
import { servedOperations } from '../../../src/app/operations/served-operations.ts';
import { signInTries } from '../../../src/app/operations/sign-in-tries.ts';
import { kafka } from '../../../src/brokers/kafka/transport/kafka-transport.ts';
import { schedule, topic } from '../../../src/index.ts';
import { type Operations, operations } from '../../../src/operations.ts';
import { archiveOf } from '../../support/fixtures/archive-fixture.ts';
import { type KeptFixture, keptFixture } from '../../support/fixtures/kept-fixture.ts';
import { type LaneFixture, laneFixture } from '../../support/fixtures/lane-fixture.ts';
import { turnLeaf } from '../../support/fixtures/leaves.ts';
import { ada, failAll } from '../../support/fixtures/operator.ts';
import { applyRoles, type RoleName, type Roles } from '../../support/fixtures/roles.ts';
import { byPg } from '../../support/fixtures/transaction-ways.ts';
import { KafkaFixture } from '../../support/kafka/kafka-fixture.ts';

const changed = { changed: true };
const by = ada;
const hourly = { every: '1h' } as const;
const numbers = topic('numbers', z.object({ n: z.number() }));

/** An operation, and what it answers somebody who may do it; an expectation of vitest. */
interface Call {
  readonly call: (at: Operations) => Promise<unknown>;
  readonly answer: unknown;
}
type Calls = Readonly<Record<string, Call>>;

let fixture: LaneFixture;
let kept: KeptFixture;

beforeEach(async ({ onTestFinished: atEnd }) => {
  fixture = await laneFixture();
  kept = await keptFixture({ onTestFinished: (work) => atEnd(() => work()) });
});
afterEach(() => fixture.drop());

function operationsAs(role: RoleName, at: Roles): Operations {
  const opened = operations({ database: { url: at.urlOf(role) } });
  onTestFinished(() => opened.close());
  return opened;
}

/** Two messages in the history: one in a leaf, and one in a month. */
async function archiveSome(): Promise<readonly string[]> {
  const retention = archiveOf(fixture);
  const ids = [await fixture.send('in a leaf'), await fixture.send('in a month', { id: randomUUID() })];
  await fixture.drain();
  await retention.age('25 hours');
  expect(await retention.archive()).toMatchObject({ archived: 2 });
  return ids;
}

const done = (result: string): readonly unknown[] => [expect.objectContaining({ result })];

/** Messages in every state that an operation starts from, some of them in a leaf that is no longer the current one. */
async function fill(): Promise<{ readonly reads: Calls; readonly changes: Calls }> {
  const archived = await archiveSome();
  await failAll(fixture, ['A', 'B', 'C', 'D']);
  for (const label of ['W', 'X']) await fixture.send(label, { afterMs: 3_600_000, ref: label });
  await fixture.send('R');
  await turnLeaf(fixture.database);
  await fixture.send('S');
  await byPg(fixture.database)((tx) => schedule(tx, 'hourly', numbers, { n: 1 }, hourly));
  const one = (label: string) => ({ ids: [fixture.idOf(label)] });
  const failed = { topic: fixture.topic, states: ['failed'] } as const;
  const latest = async (at: Operations): Promise<string> => (await at.bulk.list())[0]?.id ?? '';
  return {
    reads: {
      status: { call: (at) => at.status(), answer: expect.objectContaining({ twin: null }) },
      list: {
        call: async (at) => (await at.list({ topic: fixture.topic })).messages.length,
        answer: 8,
      },
      show: {
        call: (at) => at.show(fixture.idOf('A')),
        answer: expect.objectContaining({ message: expect.objectContaining({ payload: '"A"' }) }),
      },
      verify: { call: (at) => at.verify(), answer: expect.objectContaining({ ok: true }) },
      'bulk.list': { call: (at) => at.bulk.list(), answer: expect.any(Array) },
      'bulk.start, dry': {
        call: (at) => at.bulk.start(failed, { action: 'retry' }, { ...by, dryRun: true }),
        answer: expect.objectContaining({ count: 4 }),
      },
      tail: {
        call: async (at) => {
          const first = await at.tail({}, { last: 1 })[Symbol.asyncIterator]().next();
          return first.done === true ? undefined : first.value;
        },
        answer: expect.objectContaining({ topic: fixture.topic }),
      },
      'alerts.list': {
        call: (at) => at.alerts.list(),
        answer: expect.objectContaining({ silences: [] }),
      },
      'schedules.list': {
        call: (at) => at.schedules.list(),
        answer: [expect.objectContaining({ name: 'hourly' })],
      },
    },
    changes: {
      retry: { call: (at) => at.retry(one('A'), by), answer: done('retried') },
      edit: {
        call: (at) => at.edit(fixture.idOf('B'), { ...by, payload: 'new' }),
        answer: expect.objectContaining({ supersedes: fixture.idOf('B') }),
      },
      discard: { call: (at) => at.discard(one('C'), by), answer: done('discarded') },
      cancel: { call: (at) => at.cancel(one('W'), by), answer: done('canceled') },
      reschedule: {
        call: (at) => at.reschedule(one('X'), { ...by, after: '2h' }),
        answer: done('rescheduled'),
      },
      'withdraw from an earlier leaf': {
        call: (at) => at.withdraw(one('R'), by),
        answer: done('canceled'),
      },
      expunge: {
        call: (at) => at.expunge({ ids: [...archived, ...one('W').ids, ...one('C').ids] }, by),
        answer: [...archived, '', ''].flatMap(() => done('expunged')),
      },
      pause: {
        call: (at) => at.pause({ topic: fixture.topic }, by),
        answer: expect.objectContaining({ complete: true }),
      },
      resume: { call: (at) => at.resume({ topic: fixture.topic }, by), answer: { changed: true } },
      changeLanes: {
        call: (at) => at.changeLanes(fixture.topic, 3, by),
        answer: expect.objectContaining({ done: true }),
      },
      'bulk.start': {
        call: (at) => at.bulk.start(failed, { action: 'retry' }, by),
        answer: expect.objectContaining({ count: 1 }),
      },
      'bulk.pause': {
        call: async (at) => at.bulk.pause(await latest(at), by),
        answer: { changed: true, state: 'paused' },
      },
      'bulk.resume': {
        call: async (at) => at.bulk.resume(await latest(at), by),
        answer: { changed: true, state: 'running' },
      },
      'bulk.abort': {
        call: async (at) => at.bulk.abort(await latest(at), by),
        answer: { changed: true, state: 'aborted' },
      },
      'alerts.silence': {
        call: (at) => at.alerts.silence('failed', { ...by, for: '1h' }),
        answer: { until: expect.any(Date) },
      },
      'schedules.pause': { call: (at) => at.schedules.pause('hourly', by), answer: changed },
      'schedules.resume': { call: (at) => at.schedules.resume('hourly', by), answer: changed },
      'schedules.run': {
        call: (at) => at.schedules.run('hourly', by),
        answer: { messageId: expect.any(String) },
      },
      'schedules.remove': { call: (at) => at.schedules.remove('hourly', by), answer: changed },
    },
  };
}

/** The same for messages that a group keeps. */
async function fillKept(): Promise<{ readonly reads: Calls; readonly changes: Calls }> {
  const [a, b, c, d] = [
    await kept.keep('a', { key: 'A', state: 'failed' }),
    await kept.keep('b', { key: 'B', state: 'failed' }),
    await kept.keep('c', { key: 'C' }),
    await kept.keep('d', { key: 'D', state: 'failed' }),
  ];
  const { group } = kept;
  const one = (id: string) => ({ group, ids: [id] });
  return {
    reads: {
      'inbox.list': {
        call: async (at) => (await at.inbox.list({ group })).messages.length,
        answer: 4,
      },
      'inbox.show': { call: (at) => at.inbox.show({ group, id: d }), answer: expect.anything() },
      'inbox.bulk.list': { call: (at) => at.inbox.bulk.list(), answer: expect.any(Array) },
    },
    changes: {
      'inbox.retry': { call: (at) => at.inbox.retry(one(a), by), answer: done('retried') },
      'inbox.edit': {
        call: (at) => at.inbox.edit({ group, id: b }, { ...by, payload: 'new' }),
        answer: expect.objectContaining({ supersedes: b }),
      },
      'inbox.discard': { call: (at) => at.inbox.discard(one(c), by), answer: done('discarded') },
      'inbox.expunge': { call: (at) => at.inbox.expunge(one(c), by), answer: done('expunged') },
      'inbox.bulk.start': {
        call: (at) => at.inbox.bulk.start({ group, states: ['failed'] }, { action: 'retry' }, by),
        answer: expect.objectContaining({ count: 1 }),
      },
    },
  };
}

async function tellApart(at: Roles, { reads, changes }: { readonly reads: Calls; readonly changes: Calls }) {
  const refused = expect.objectContaining({ code: 'OUTBOX_PRIVILEGE_MISSING' });
  for (const [name, { call, answer }] of Object.entries(reads))
    for (const role of ['viewer', 'operator'] as const)
      expect([role, name, await call(operationsAs(role, at))]).toEqual([role, name, answer]);
  for (const [name, { call, answer }] of Object.entries(changes)) {
    const viewer = await call(operationsAs('viewer', at)).catch((error: unknown) => error);
    if (!name.startsWith('bulk.') || name === 'bulk.start')
      expect(['viewer', name, viewer]).toEqual(['viewer', name, refused]);
    expect([
      'operator',
      name,
      await call(operationsAs('operator', at)).catch((error: unknown) => error),
    ]).toEqual(['operator', name, answer]);
  }
}

test('a viewer may call every operation that reads and is refused every change; an operator may call both', async () => {
  const at = await applyRoles(fixture);
  const calls = await fill();
  await tellApart(at, calls);

  await expect(operationsAs('operator', at).adopt({ actor: ada.actor })).rejects.toMatchObject({
    code: 'OUTBOX_PRIVILEGE_MISSING',
  });
  const named = new Set(
    Object.keys({ ...calls.reads, ...calls.changes }).map((name) => name.split(/[ ,.]/)[0]),
  );
  const all = Object.keys(operationsAs('viewer', at)).filter(
    (name) => !['close', 'adopt', 'inbox'].includes(name),
  );
  // A test of its own, because it needs a broker.
  expect(all.filter((name) => !named.has(name))).toEqual(['changePartitions']);
});

test('an operator may place keys by more partitions of a topic of Kafka, and a viewer may not', async () => {
  const world = await KafkaFixture.create(3);
  onTestFinished(() => world.end());
  const { topic: name, url, database } = world.fixture;
  await database.query('update outbox.topic set partitions = 2 where name = $1', [name]);
  await world.fixture.send('A', { key: 'A' });
  await world.deliver();
  const at = await applyRoles({ url, database });
  const transports = { scripted: kafka({ servers: inject('kafkaBrokers') }) };
  const change = async (role: RoleName): Promise<unknown> => {
    const opened = operations({ database: { url: at.urlOf(role) }, topics: [world.topic], transports });
    onTestFinished(() => opened.close());
    return opened.changePartitions(name, 3, by);
  };

  await expect(change('viewer')).rejects.toMatchObject({ code: 'OUTBOX_PRIVILEGE_MISSING' });
  expect(await change('operator')).toEqual({ done: true, moved: 0 });
  expect(await database.query('select partitions from outbox.topic where name = $1', [name])).toEqual([
    { partitions: 3 },
  ]);
});

test('a viewer may read what a group keeps and is refused every change; an operator may do both', async () => {
  await tellApart(await applyRoles(kept), await fillKept());
});

test('the role of operators is enough for the HTTP API: repeats, a sign-in, a sign-out, wrong tries', async () => {
  const at = await applyRoles({ url: fixture.url, database: fixture.database });
  const database = { url: at.urlOf('operator') };
  const key = { actor: 'ada', key: 'k', digest: 'd' };
  const served = servedOperations({ database });
  const sessions = apiSessions(database, () => 'provider', { idleMs: 60_000, longestMs: 60_000 });
  onTestFinished(async () => {
    await Promise.all([served.close(), sessions.close()]);
  });
  const answer = { status: 200, body: '{}' };
  expect(await served.once(key, 'change', async () => answer)).toEqual(answer);
  expect(await served.once(key, 'change', async () => ({ ...answer, status: 500 }))).toEqual(answer);
  await sessions.begin('first', { name: 'ada', grants: ['admins'] }, undefined);
  await sessions.begin('second', { name: 'ada', grants: ['admins'] }, 'first');
  expect(await sessions.use('first')).toBeUndefined();
  expect(await sessions.use('second')).toEqual({ name: 'ada', grants: ['admins'] });
  await sessions.end('second');
  expect(await sessions.use('second')).toBeUndefined();
  const tries = signInTries(database);
  onTestFinished(() => tries.close());
  const right = await tries.begin([{ what: 'ada', most: 1 }]);
  expect(await tries.begin([{ what: 'ada', most: 1 }])).toBeUndefined();
  await right?.();
  expect(await tries.begin([{ what: 'ada', most: 1 }])).toBeDefined();
});
