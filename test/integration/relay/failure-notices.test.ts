import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { startRelay } from '../../../src/app/relay/start-relay.ts';
import { setTrap } from '../../../src/core/crash-point.ts';
import { topic } from '../../../src/core/topic.ts';
import { send } from '../../../src/outbox/send.ts';
import { FailureNotices } from '../../../src/relay/failure-notices.ts';
import type { OnFailed } from '../../../src/relay/on-failed.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { fromQuery, type Transaction } from '../../../src/store/database/transaction.ts';
import { memoryTransport } from '../../../src/testing.ts';
import { MortalDatabase, ProcessDied } from '../../support/faults/mortal-database.ts';
import { createTestDatabase } from '../../support/fixtures/database.ts';
import { gate } from '../../support/fixtures/gate.ts';
import { eachLane, type LaneFixture } from '../../support/fixtures/lane-fixture.ts';
import { ada, operatorAt } from '../../support/fixtures/operator.ts';
import { quietTemporal } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';
import { labelOf } from '../../support/kafka/scripted-broker.ts';

let fixture: LaneFixture;
let open: FailureNotices[];
let events: RelayEvent[];

eachLane((made) => (fixture = made), { retry: [], exhausted: 'block-key' });
beforeEach(async () => {
  fixture.broker.judge = () => 'permanent';
  // Found by its name alone: the search path of the role counts for the statements of the hook.
  await fixture.database.query('create table if not exists public.told (id text not null)');
  await fixture.database.query('truncate public.told');
  open = [];
  events = [];
});
afterEach(async () => {
  await Promise.all(open.map((one) => one.stop()));
});

const noteTold: OnFailed = (tx, { id }) => tx.$queryRawUnsafe('insert into told values ($1)', id);

function notices(onFailed: OnFailed, database: Database = fixture.database): FailureNotices {
  const made = new FailureNotices({
    database,
    topics: [fixture.topic],
    onFailed,
    report: (event) => events.push(event),
  });
  open.push(made);
  made.start();
  return made;
}

async function told(): Promise<readonly string[]> {
  const rows = await fixture.database.query<{ id: string }>('select id from public.told order by 1');
  return rows.map(({ id }) => id);
}

async function fail(...labels: string[]): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const label of labels) ids.push(await fixture.send(label, { key: label }));
  await fixture.drain();
  return ids.toSorted();
}

async function retry(label: string): Promise<void> {
  const operator = operatorAt(fixture);
  expect(await operator.retry(operator.of(label), ada)).toMatchObject([{ result: 'retried' }]);
}

test('onFailed is told once of each failed message, and how many messages of its key wait for it', {
  tags: ['on-failed-called-once'],
}, async () => {
  const seen: unknown[] = [];
  const id = await fixture.send('A', { key: 'K' });
  await fixture.drain();
  for (const label of ['B', 'C']) await fixture.send(label, { key: 'K' });
  await fixture.drain();
  const other = await fixture.send('D', { key: 'L' });
  await fixture.drain();
  notices(async (tx, failed) => {
    seen.push(failed);
    await noteTold(tx, failed);
  });
  await until(async () => (await told()).length === 2);

  const about = {
    topic: 'orders',
    ref: null,
    error: 'refused by the script',
    attempts: 1,
    failedAt: expect.any(Date),
  };
  expect(seen).toEqual([
    { ...about, id, key: 'K', payload: '"A"', waiting: 2 },
    { ...about, id: other, key: 'L', payload: '"D"', waiting: 0 },
  ]);
  expect(events).toEqual([]);
});

test('relays that run at once tell of each failure once', { tags: ['on-failed-called-once'] }, async () => {
  const ids = await fail(...Array.from({ length: 40 }, (_, n) => `A${n}`));
  for (let n = 0; n < 4; n += 1) notices(noteTold);
  await until(async () => (await told()).length >= ids.length);
  await Promise.all(open.map((one) => one.stop()));

  expect(await told()).toEqual(ids);
});

test('a relay that dies in the call has told nobody, and the next one tells once', {
  tags: ['on-failed-called-once'],
}, async () => {
  const ids = await fail('A');
  const dying = new MortalDatabase(fixture.database);
  const died = gate();
  const disarm = setTrap('relay:notified', () => {
    dying.kill();
    died.open();
    throw new ProcessDied('It died with the call done.');
  });
  notices(noteTold, dying);
  await died.opened;
  await open[0]?.stop();
  disarm();
  expect(await told()).toEqual([]);

  notices(noteTold);
  await until(async () => (await told()).length > 0);
  expect(await told()).toEqual(ids);
});

test('a call that rejects is repeated, and holds up no other message', async () => {
  await fail('A', 'B');
  let refused = 0;
  notices(async (tx, failed) => {
    if (failed.id === fixture.idOf('A') && refused === 0) {
      refused += 1;
      await noteTold(tx, failed);
      throw new Error('not now');
    }
    await noteTold(tx, failed);
  });
  await until(async () => (await told()).length === 1);
  expect(await told()).toEqual([fixture.idOf('B')]);
  await until(async () => (await told()).length === 2);

  expect(refused).toBe(1);
  expect(events).toEqual([{ type: 'error', during: 'notices', error: new Error('not now') }]);
});

test('a hook that rejects every call rests for longer and longer, however many messages it was not told of, and then hears of all', {
  tags: ['on-failed-called-once'],
}, async () => {
  await fixture.database.query('alter table outbox.message disable trigger user');
  const messages = 1_100;
  await fixture.database.query(
    `insert into outbox.message (id, topic, lane, payload, state, workflow_id, last_error, notified)
     select gen_random_uuid(), 'orders', 0, '{}', 'failed', 'w', 'x', false from generate_series(1, $1::integer)`,
    [messages],
  );
  let away = true;
  const calledAt: number[] = [];
  const teller = notices(async () => {
    if (!away) return;
    calledAt.push(performance.now());
    teller.nudge();
    throw new Error('The mail server is away.');
  });
  await until(() => calledAt.length > 11);
  away = false;
  await until(
    async () => (await fixture.database.query('select from outbox.message where not notified')).length === 0,
    120_000,
  );
  await fixture.database.query('alter table outbox.message enable trigger user');

  const gaps = calledAt.slice(1).map((at, n) => at - (calledAt[n] ?? 0));
  for (const [n, leastMs] of [1_000, 2_000].entries()) expect(gaps[9 + n]).toBeGreaterThan(leastMs - 10);
});

test('a message that was retried in time is not told, and one that fails again is told again', {
  tags: ['on-failed-called-once'],
}, async () => {
  await fail('A', 'B');
  await retry('A');
  fixture.broker.judge = (message) => (labelOf(message) === 'A' ? 'store' : 'permanent');
  await fixture.drain();
  notices(noteTold);
  await until(async () => (await told()).length > 0);
  await retry('B');
  await fixture.drain();
  await until(async () => (await told()).length > 1);

  expect(await told()).toEqual([fixture.idOf('B'), fixture.idOf('B')]);
});

test('what a call sends is stored with its note, and its transaction refuses statements when the call is over', async () => {
  await fail('A');
  const calls: Transaction[] = [];
  notices(async (tx, { id }) => {
    calls.push(tx);
    await send(tx, topic('persons', z.string()), id);
  });
  await until(
    async () =>
      (await fixture.database.query(`select from outbox.message where topic = 'persons'`)).length > 0,
  );
  await open[0]?.stop();

  expect(calls).toHaveLength(1);
  await expect(calls[0]?.$queryRawUnsafe('select 1')).rejects.toMatchObject({
    code: 'OUTBOX_NOT_IN_TRANSACTION',
  });
});

test('a relay calls onFailed of its configuration as soon as a message has failed', async ({
  onTestFinished,
}) => {
  quietTemporal();
  const made = await createTestDatabase();
  onTestFinished(() => made.drop());
  const orders = topic('orders', z.string(), { retry: [] });
  const broker = memoryTransport();
  broker.faults.refuse(() => 'permanent');
  const calls: string[] = [];
  const relay = startRelay({
    database: { url: made.url },
    temporal: { address: inject('temporalAddress') },
    topics: [orders],
    transports: { memory: broker },
    onFailed: async (_tx, { payload }) => calls.push(payload),
  });
  onTestFinished(() => relay.stop());
  await relay.ready;
  const calledAt: number[] = [];
  for (const payload of ['one', 'two', 'three']) {
    await made.database.transaction((sql) =>
      send(
        fromQuery((text, values) => sql.query(text, values)),
        orders,
        payload,
      ),
    );
    await until(() => calls.includes(JSON.stringify(payload)));
    calledAt.push(performance.now());
  }

  expect(calls).toEqual(['"one"', '"two"', '"three"']);
  // Looks alone, without a word of the failure, come five seconds apart.
  const gaps = calledAt.slice(1).map((at, n) => at - (calledAt[n] ?? 0));
  // The shorter one, because the machine may be busy.
  expect(Math.min(...gaps)).toBeLessThan(4_000);
});
