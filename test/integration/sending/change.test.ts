import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { PrismaClient } from '../../../dev/generated/shop/client.ts';
import { cancel, reschedule, type State, send, sendBatch, topic } from '../../../src/index.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { gate } from '../../support/fixtures/gate.ts';
import { untilLockWaits } from '../../support/fixtures/lock-waits.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { byPg, byPrisma, type RunTransaction } from '../../support/fixtures/transaction-ways.ts';

let made: TestDatabase;
let prisma: PrismaClient;

beforeAll(async () => {
  made = await createTestDatabase();
  prisma = openPrisma(made.url);
});

afterAll(async () => {
  await prisma.$disconnect();
  await made.drop();
});

const orders = topic('orders', z.unknown());
const others = topic('others', z.unknown());

/** A message that waits for an hour, under a ref of its own. */
async function waiting(): Promise<{ id: string; ref: string }> {
  const ref = randomUUID();
  const { id } = await byPg(made.database)((tx) => send(tx, orders, 1, { ref, after: '1 hour' }));
  return { id, ref };
}

/** Puts a message into a state, past the trigger that refuses shortcuts. */
async function force(id: string, state: State, maybePublished = false): Promise<void> {
  await made.database.transaction(async (sql) => {
    await sql.query('set local session_replication_role = replica');
    await sql.query('update outbox.message set state = $2, maybe_published = $3 where id = $1', [
      id,
      state,
      maybePublished,
    ]);
  });
}

interface Row {
  readonly state: State;
  readonly due_at: Date;
  readonly renewed: boolean;
  readonly in_s: number;
}

async function read(id: string): Promise<Row> {
  const [row] = await made.database.query<Row>(
    `select state::text as state, due_at, extract(epoch from due_at - clock_timestamp())::float8 as in_s from outbox.message where id = $1`,
    [id],
  );
  if (row === undefined) throw new Error(`There is no message ${id}.`);
  return row;
}

describe.each([
  ['Prisma', (): RunTransaction => byPrisma(prisma)],
  ['pg', (): RunTransaction => byPg(made.database)],
])('through %s', (_, way) => {
  test('a waiting message is canceled by its ref or its id, and a second cancel is harmless', async () => {
    const byRef = await waiting();
    const byId = await waiting();

    expect(await way()((tx) => cancel(tx, orders, byRef.ref))).toBe('canceled');
    expect(await way()((tx) => cancel(tx, orders, { id: byId.id.toUpperCase() }))).toBe('canceled');
    expect((await read(byRef.id)).state).toBe('canceled');
    expect((await read(byId.id)).state).toBe('canceled');
    expect(await way()((tx) => cancel(tx, orders, byRef.ref))).toBe('canceled');
  });

  test('a cancel that is rolled back has no effect', async () => {
    const { id, ref } = await waiting();
    const undone = way()(async (tx) => {
      expect(await cancel(tx, orders, ref)).toBe('canceled');
      throw new Error('unpaid after all');
    });
    await expect(undone).rejects.toThrow('unpaid after all');
    expect((await read(id)).state).toBe('waiting');
  });

  test('a message that was never sent or belongs to another topic is unknown', async () => {
    const { id, ref } = await waiting();
    const answers = await way()(async (tx) => [
      await cancel(tx, orders, 'never'),
      await cancel(tx, orders, { id: randomUUID() }),
      await cancel(tx, others, ref),
      await cancel(tx, others, { id }),
      await reschedule(tx, orders, 'never', { after: 0 }),
      await reschedule(tx, others, { id }, { after: 0 }),
    ]);
    expect(new Set(answers)).toEqual(new Set(['unknown']));
    expect((await read(id)).state).toBe('waiting');
  });

  test('a waiting message is moved later and earlier, and to now', async () => {
    const { id, ref } = await waiting();
    const move = (due: { after: number } | { at: Date }) => way()((tx) => reschedule(tx, orders, ref, due));

    expect(await move({ after: 7_200_000 })).toBe('rescheduled');
    expect((await read(id)).in_s).toBeCloseTo(7_200, -1);
    const at = new Date(Date.now() + 600_000);
    expect(await move({ at })).toBe('rescheduled');
    expect((await read(id)).due_at).toEqual(at);
    expect(await move({ after: 0 })).toBe('rescheduled');
    const now = await read(id);
    expect(now).toMatchObject({ state: 'waiting' });
    expect(Math.abs(now.in_s)).toBeLessThan(10);
  });
});

const answerOf: Readonly<Record<State, 'canceled' | 'too-late'>> = {
  waiting: 'canceled',
  ready: 'too-late',
  blocked: 'canceled',
  retrying: 'canceled',
  published: 'too-late',
  confirmed: 'too-late',
  failed: 'too-late',
  canceled: 'canceled',
  superseded: 'too-late',
  discarded: 'too-late',
  expired: 'too-late',
};

test.each(Object.entries(answerOf))('cancel of a message that is %s answers %s', async (state, answer) => {
  const { id } = await waiting();
  await force(id, state as State);

  expect(await byPg(made.database)((tx) => cancel(tx, orders, { id }))).toBe(answer);
  expect((await read(id)).state).toBe(answer === 'canceled' ? 'canceled' : state);
});

test.each(['retrying', 'blocked'] as const)(
  'cancel of a %s message that may have been published is too late',
  async (state) => {
    const { id } = await waiting();
    await force(id, state, true);

    expect(await byPg(made.database)((tx) => cancel(tx, orders, { id }))).toBe('too-late');
    expect((await read(id)).state).toBe(state);
  },
);

test.each(Object.keys(answerOf).filter((state) => state !== 'waiting'))(
  'reschedule of a message that is %s is too late and moves nothing',
  async (state) => {
    const { id } = await waiting();
    await force(id, state as State);
    const before = await read(id);

    expect(await byPg(made.database)((tx) => reschedule(tx, orders, { id }, { after: 0 }))).toBe('too-late');
    expect((await read(id)).due_at).toEqual(before.due_at);
  },
);

test('a ref means the waiting message before newer ones, otherwise the newest', async () => {
  const ref = randomUUID();
  const run = byPg(made.database);
  const [first] = await run((tx) => sendBatch(tx, orders, [{ payload: 1, ref, after: '1 hour' }]));
  await run((tx) => send(tx, orders, 2, { ref }));
  expect(await run((tx) => cancel(tx, orders, ref))).toBe('canceled');
  expect((await read(first?.id ?? '')).state).toBe('canceled');
  // The newest is ready now, so the canceled one is no longer meant.
  expect(await run((tx) => cancel(tx, orders, ref))).toBe('too-late');

  const pair = await run((tx) =>
    sendBatch(tx, orders, [
      { payload: 3, ref },
      { payload: 4, ref },
    ]),
  );
  await force(pair[1]?.id ?? '', 'retrying');
  expect(await run((tx) => cancel(tx, orders, ref))).toBe('canceled');
  expect((await read(pair[1]?.id ?? '')).state).toBe('canceled');
});

test('a canceled message is written with the transaction that canceled it', async () => {
  const { id } = await waiting();
  const mine = await byPg(made.database)(async (tx) => {
    await cancel(tx, orders, { id });
    return tx.$queryRawUnsafe(`select pg_current_xact_id()::text as xid`);
  });
  expect(
    await made.database.query(`select xid::text as xid from outbox.message where id = $1`, [id]),
  ).toEqual(mine);
});

test('rescheduling a message that waits in its lane needs no starter', async () => {
  await made.database.query(
    `insert into outbox.topic (name, transport, address, retry_ms, timer) values ('in-lane', 'kafka', 'a', '{}', 'lane')`,
  );
  const inLane = topic('in-lane', z.unknown());
  const { id } = await byPg(made.database)((tx) => send(tx, inLane, 1, { after: '1 hour' }));
  await byPg(made.database)((tx) => reschedule(tx, inLane, { id }, { after: '2 hours' }));

  const [row] = await made.database.query(
    'select workflow_due_at is distinct from due_at as untold from outbox.message where id = $1',
    [id],
  );
  expect(row).toEqual({ untold: false });
});

/** Runs `second` while `first` is done but not committed; `second` has to wait for it. */
async function overlap<Answer>(
  first: Parameters<RunTransaction>[0],
  second: (tx: Parameters<Parameters<RunTransaction>[0]>[0]) => Promise<Answer>,
): Promise<Answer> {
  const done = gate();
  const finish = gate();
  const opening = byPrisma(prisma)(async (tx) => {
    await first(tx);
    done.open();
    await finish.opened;
  });
  await done.opened;
  const waiter = byPg(made.database)(second);
  await untilLockWaits(made.database, 1);
  finish.open();
  await opening;
  return waiter;
}

test('of two concurrent reschedules the one that commits last wins', async () => {
  const { id, ref } = await waiting();
  const answer = await overlap(
    (tx) => reschedule(tx, orders, ref, { after: '10 hours' }),
    (tx) => reschedule(tx, orders, ref, { after: '5 hours' }),
  );
  expect(answer).toBe('rescheduled');
  expect((await read(id)).in_s).toBeCloseTo(18_000, -2);
});

test('a reschedule that waits for a cancel is too late once that commits', async () => {
  const { id, ref } = await waiting();
  const answer = await overlap(
    (tx) => cancel(tx, orders, ref),
    (tx) => reschedule(tx, orders, ref, { after: 0 }),
  );
  expect(answer).toBe('too-late');
  expect((await read(id)).state).toBe('canceled');
});
