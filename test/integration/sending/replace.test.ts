import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import type { PrismaClient } from '../../../dev/generated/shop/client.ts';
import { reschedule, send, sendBatch, topic } from '../../../src/index.ts';
import type { Transaction } from '../../../src/store/database/transaction.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { gate } from '../../support/fixtures/gate.ts';
import { untilLockWaits } from '../../support/fixtures/lock-waits.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { byPg, byPrisma } from '../../support/fixtures/transaction-ways.ts';

let made: TestDatabase;
let prisma: PrismaClient;

const searches = topic('searches', z.object({ text: z.string() }));

beforeAll(async () => {
  made = await createTestDatabase();
  prisma = openPrisma(made.url);
});
afterAll(async () => {
  await prisma.$disconnect();
  await made.drop();
});

const run = <T>(work: (tx: Transaction) => Promise<T>): Promise<T> => byPrisma(prisma)(work);

async function rowsOf(ref: string): Promise<readonly Record<string, unknown>[]> {
  return made.database.query(
    `select id, payload, headers, state, key, round(extract(epoch from due_at - now()) / 60)::int as minutes
     from outbox.message where ref = $1 order by position`,
    [ref],
  );
}

test('a replacing message takes the place of the waiting one of its ref: content, headers and time', async () => {
  const first = await run((tx) => send(tx, searches, { text: 'a' }, { ref: 'r', key: 'k', after: '1 hour' }));

  const second = await run((tx) =>
    send(
      tx,
      searches,
      { text: 'ab' },
      { ref: 'r', key: 'k', after: '2 hours', headers: { tenant: 'blue' }, replace: true },
    ),
  );

  expect(second).toMatchObject({
    id: first.id,
    workflowId: first.workflowId,
    state: 'waiting',
    duplicate: false,
  });
  expect(await rowsOf('r')).toMatchObject([
    { id: first.id, payload: '{"text":"ab"}', headers: { tenant: 'blue' }, state: 'waiting', minutes: 120 },
  ]);
});

test('a replacing message is stored like any other if none waits', async () => {
  const first = await run((tx) => send(tx, searches, { text: 'now' }, { ref: 'none', replace: true }));
  const second = await run((tx) =>
    send(tx, searches, { text: 'later' }, { ref: 'none', after: '1 hour', replace: true }),
  );

  expect(first.state).toBe('ready');
  expect(second.id).not.toBe(first.id);
  expect(await rowsOf('none')).toMatchObject([
    { payload: '{"text":"now"}' },
    { payload: '{"text":"later"}' },
  ]);
});

test('a replacing message without a delay makes the waiting one due', async () => {
  const first = await run((tx) => send(tx, searches, { text: 'a' }, { ref: 'due', after: '1 hour' }));
  const second = await run((tx) => send(tx, searches, { text: 'b' }, { ref: 'due', replace: true }));

  expect(second.id).toBe(first.id);
  expect(await rowsOf('due')).toMatchObject([{ payload: '{"text":"b"}', minutes: 0 }]);
});

test('a replacement that is rolled back leaves the waiting message unchanged', async () => {
  await run((tx) => send(tx, searches, { text: 'kept' }, { ref: 'back', after: '1 hour' }));
  const undone = run(async (tx) => {
    await send(tx, searches, { text: 'gone' }, { ref: 'back', after: '2 hours', replace: true });
    throw new Error('rolled back');
  });

  await expect(undone).rejects.toThrow('rolled back');
  expect(await rowsOf('back')).toMatchObject([{ payload: '{"text":"kept"}', minutes: 60 }]);
});

test('a ref waiting with another key is refused, and the transaction stays usable', async () => {
  await run((tx) => send(tx, searches, { text: 'a' }, { ref: 'other', key: 'k', after: '1 hour' }));
  const stored = await run(async (tx) => {
    const refused = send(
      tx,
      searches,
      { text: 'b' },
      { ref: 'other', key: 'l', after: '1 hour', replace: true },
    );
    await expect(refused).rejects.toMatchObject({ code: 'OUTBOX_REF_TAKEN' });
    return send(tx, searches, { text: 'c' });
  });

  expect(stored.state).toBe('ready');
  expect(await rowsOf('other')).toMatchObject([{ payload: '{"text":"a"}' }]);
});

test.each<[string, (tx: Transaction) => Promise<unknown>]>([
  ['without a ref', (tx) => send(tx, searches, { text: 'a' }, { replace: true })],
  [
    'with an id',
    (tx) => send(tx, searches, { text: 'a' }, { ref: 'r', id: crypto.randomUUID(), replace: true }),
  ],
  [
    'in a batch',
    (tx) =>
      // @ts-expect-error -- plain JavaScript may pass it
      sendBatch(tx, searches, [{ payload: { text: 'a' }, ref: 'r', replace: true }]),
  ],
])('a replacement %s is refused before anything is written', async (_, work) => {
  await expect(run(work)).rejects.toMatchObject({
    code: 'OUTBOX_OPTION_INVALID',
    details: { option: 'replace' },
  });
});

test('a replacement that keeps the due time changes the content alone', async () => {
  const options = { ref: 'kept-due', replace: { due: 'keep' } } as const;
  const first = await run((tx) => send(tx, searches, { text: 'a' }, { ...options, after: '1 hour' }));
  const second = await run((tx) => send(tx, searches, { text: 'b' }, { ...options, after: '2 hours' }));
  const third = await run((tx) => send(tx, searches, { text: 'c' }, options));

  expect([second, third]).toMatchObject([first, first].map(({ id, dueAt }) => ({ id, dueAt })));
  expect(await rowsOf('kept-due')).toMatchObject([{ payload: '{"text":"c"}', minutes: 60 }]);
});

test('however often a message is replaced, it is due at most the longest wait after its first due time', async () => {
  const options = { ref: 'bounded', replace: { atMost: '90 minutes' } } as const;
  const after = async (minutes: number) => {
    await run((tx) => send(tx, searches, { text: String(minutes) }, { ...options, after: minutes * 60_000 }));
    return (await rowsOf('bounded'))[0]?.['minutes'];
  };

  expect(await after(60)).toBe(60);
  expect(await after(120)).toBe(120);
  expect(await after(200)).toBe(150);
  expect(await after(30)).toBe(30);
  expect(await after(600)).toBe(150);

  await run((tx) => reschedule(tx, searches, 'bounded', { after: '10 minutes' }));
  expect(await after(600)).toBe(100);
});

test('a message that is due by its longest wait stays due, however often it is replaced', async () => {
  const options = { ref: 'due-stays', after: '1 hour', replace: { atMost: '1 minute' } } as const;
  await run((tx) => send(tx, searches, { text: 'a' }, options));
  await made.database.query(
    `update outbox.message set due_at = due_at - interval '2 hours', first_due_at = first_due_at - interval '2 hours' where ref = $1`,
    ['due-stays'],
  );
  const first = await run((tx) => send(tx, searches, { text: 'b' }, options));
  const second = await run((tx) => send(tx, searches, { text: 'c' }, options));

  expect(second.dueAt).toEqual(first.dueAt);
  expect(await rowsOf('due-stays')).toMatchObject([{ payload: '{"text":"c"}', minutes: -59 }]);
});

test('a longest wait that has passed moves a later due time to now', async () => {
  const steps = { ref: 'now-due', after: '1 hour' } as const;
  await run((tx) => send(tx, searches, { text: 'a' }, steps));
  await made.database.query(
    `update outbox.message set first_due_at = first_due_at - interval '2 hours' where ref = $1`,
    ['now-due'],
  );
  await run((tx) => send(tx, searches, { text: 'b' }, { ...steps, replace: { atMost: '1 minute' } }));

  expect(await rowsOf('now-due')).toMatchObject([{ payload: '{"text":"b"}', minutes: 0 }]);
});

test.each<unknown>([
  {},
  { due: 'later' },
  { atMost: -1 },
  { atMost: 'soon' },
  { due: 'keep', atMost: 1 },
  'keep',
])('a replacement by %j is refused before anything is written', async (replace) => {
  const work = (tx: Transaction) =>
    // @ts-expect-error -- plain JavaScript may pass it
    send(tx, searches, { text: 'a' }, { ref: 'refused', replace });
  await expect(run(work)).rejects.toMatchObject({ code: 'OUTBOX_OPTION_INVALID' });
  expect(await rowsOf('refused')).toEqual([]);
});

test('plain SQL keeps and bounds the due time, and refuses both at once', async () => {
  const sql = (text: string) =>
    made.database.query(`select id from outbox.send('searches', '1', ref => 'sql-due', ${text})`);
  await sql(`after => '1 hour'`);
  await sql(`after => '5 hours', replace => true, keep_due => true`);
  expect(await rowsOf('sql-due')).toMatchObject([{ minutes: 60 }]);
  await sql(`after => '5 hours', replace => true, at_most => '30 minutes'`);
  expect(await rowsOf('sql-due')).toMatchObject([{ minutes: 90 }]);
  for (const wrong of [
    `replace => true, keep_due => true, at_most => '1 hour'`,
    'keep_due => true',
    `at_most => '1 hour'`,
  ])
    await expect(sql(wrong)).rejects.toMatchObject({ code: 'OB002', detail: 'OUTBOX_OPTION_INVALID' });
});

test('plain SQL replaces and refuses as the library does', async () => {
  const [first] = await made.database.query<{ id: string }>(
    `select id from outbox.send('searches', '1', ref => 'sql', after => '1 hour')`,
  );
  const [second] = await made.database.query<{ id: string }>(
    `select id from outbox.send('searches', '2', ref => 'sql', after => '1 hour', replace => true)`,
  );

  expect(second).toEqual(first);
  expect(await rowsOf('sql')).toMatchObject([{ payload: '2' }]);
  const refused = made.database.query(`select outbox.send('searches', '2', replace => true)`);
  await expect(refused).rejects.toMatchObject({ code: 'OB002', detail: 'OUTBOX_OPTION_INVALID' });
});

test('of two transactions that replace one ref, the second waits for the first and replaces its message', async () => {
  const sent = gate();
  const finish = gate();
  const first = run(async (tx) => {
    const stored = await send(
      tx,
      searches,
      { text: 'first' },
      { ref: 'raced', after: '1 hour', replace: true },
    );
    sent.open();
    await finish.opened;
    return stored;
  });
  await sent.opened;
  const second = byPg(made.database)(async (tx) => {
    return send(tx, searches, { text: 'second' }, { ref: 'raced', after: '1 hour', replace: true });
  });
  await untilLockWaits(made.database, 1);
  finish.open();

  expect((await second).id).toBe((await first).id);
  expect(await rowsOf('raced')).toMatchObject([{ payload: '{"text":"second"}' }]);
});
