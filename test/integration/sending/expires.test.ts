import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { send, sendBatch, topic } from '../../../src/index.ts';
import type { Transaction } from '../../../src/store/database/transaction.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { byPg } from '../../support/fixtures/transaction-ways.ts';

let made: TestDatabase;
beforeAll(async () => {
  made = await createTestDatabase();
});
afterAll(() => made.drop());

const codes = topic('codes', z.number());
const run = <T>(work: (tx: Transaction) => Promise<T>): Promise<T> => byPg(made.database)(work);

/** Seconds from the send to the expiry, and the table. */
async function read(
  id: string,
): Promise<{ seconds: number | null; apart: boolean; due: number | null } | undefined> {
  const [row] = await made.database.query<{ seconds: number | null; apart: boolean; due: number | null }>(
    `select round(extract(epoch from expires_at - created_at))::int as seconds, round(extract(epoch from due_at - created_at))::int as due,
       tableoid = 'outbox.message'::regclass as apart
     from outbox.message where id = $1`,
    [id],
  );
  return row;
}

test('an expiry counts from the send, or is a time, for one message and each of a batch', async () => {
  const at = new Date(Date.now() + 7_200_000);
  const one = await run((tx) => send(tx, codes, 1, { expires: { after: '1 hour' } }));
  const [two, three, four] = await run((tx) =>
    sendBatch(tx, codes, [
      { payload: 2, expires: { at } },
      { payload: 3, after: '1 hour', expires: { after: '90 minutes' } },
      { payload: 4 },
    ]),
  );

  expect(await read(one.id)).toEqual({ seconds: 3_600, apart: true, due: null });
  const [row] = await made.database.query<{ at: Date }>(
    'select expires_at as at from outbox.message where id = $1',
    [two?.id],
  );
  expect(row?.at).toEqual(at);
  expect(await read(three?.id ?? '')).toEqual({ seconds: 5_400, apart: true, due: 3_600 });
  expect(await read(four?.id ?? '')).toMatchObject({ seconds: null });
});

test('a message that can go now and does not expire stays in the log', async () => {
  const { id } = await run((tx) => send(tx, topic('plain', z.number()), 1));
  expect(await read(id)).toEqual({ seconds: null, apart: false, due: null });
});

test.each<[string, unknown]>([
  ['nothing', {}],
  ['both', { after: 1, at: new Date() }],
  ['no duration', { after: 'soon' }],
  ['a negative duration', { after: -1 }],
  ['more than a hundred years', { after: '101 years' }],
  ['no date', { at: '2030-01-01' }],
  ['an invalid date', { at: new Date('x') }],
  ['a year of five digits', { at: new Date('+010000-01-01') }],
  ['another name', { within: 1 }],
  ['a duration alone', '1 hour'],
])('an expiry of %s is refused before anything is written', async (_, expires) => {
  const work = (tx: Transaction) =>
    // @ts-expect-error -- plain JavaScript may pass it
    send(tx, codes, 1, { ref: 'refused', expires });
  await expect(run(work)).rejects.toMatchObject({ code: 'OUTBOX_OPTION_INVALID' });
  expect(await made.database.query(`select from outbox.message where ref = 'refused'`)).toEqual([]);
});

test('a message that would expire before it is due is refused, and the transaction stays usable', async () => {
  const stored = await run(async (tx) => {
    const refused = { after: '1 hour', expires: { after: '1 hour' } } as const;
    await expect(send(tx, codes, 1, refused)).rejects.toMatchObject({ code: 'OUTBOX_EXPIRY_BEFORE_DUE' });
    const batch = sendBatch(tx, codes, [{ payload: 1 }, { payload: 2, ...refused }]);
    await expect(batch).rejects.toMatchObject({ code: 'OUTBOX_EXPIRY_BEFORE_DUE', details: { index: 1 } });
    return send(tx, codes, 1, { expires: { at: new Date(0) } });
  });
  expect(stored.state).toBe('ready');
});

test('a replacing message brings its own expiry, or none', async () => {
  const options = { ref: 'replaced', after: '1 hour', replace: true } as const;
  const { id } = await run((tx) => send(tx, codes, 1, { ...options, expires: { after: '2 hours' } }));
  await run((tx) => send(tx, codes, 2, { ...options, expires: { after: '3 hours' } }));
  expect(await read(id)).toMatchObject({ seconds: 10_800 });
  await run((tx) => send(tx, codes, 3, options));
  expect(await read(id)).toMatchObject({ seconds: null });
});

test('plain SQL takes an expiry, and refuses as the library does', async () => {
  const sql = async (text: string) => {
    const [row] = await made.database.query<{ id: string }>(`select id from ${text}`);
    return row?.id ?? '';
  };
  const one = await sql(`outbox.send('codes', '1', expires_after => '1 hour')`);
  const two = await sql(`outbox.send('codes', '1', expires_at => now() + interval '2 hours')`);
  const three = await sql(`outbox.send_batch('codes', '[{"payload": 1, "expiresAfterMs": 1800000}]')`);

  expect(await read(one)).toMatchObject({ seconds: 3_600, apart: true });
  expect(await read(two)).toMatchObject({ seconds: 7_200 });
  expect(await read(three)).toMatchObject({ seconds: 1_800 });
  for (const [wrong, detail] of [
    [`expires_after => '1 hour', expires_at => now()`, 'OUTBOX_OPTION_INVALID'],
    [`expires_after => '-1 hour'`, 'OUTBOX_OPTION_INVALID'],
    [`expires_at => 'infinity'`, 'OUTBOX_OPTION_INVALID'],
    [`expires_after => '1 hour', after => '1 hour'`, 'OUTBOX_EXPIRY_BEFORE_DUE'],
  ])
    await expect(sql(`outbox.send('codes', '1', ${wrong})`)).rejects.toMatchObject({ code: 'OB002', detail });
  const batch = sql(`outbox.send_batch('codes', '[{"payload": 1, "expiresAt": "soon"}]')`);
  await expect(batch).rejects.toMatchObject({ code: 'OB002', detail: 'OUTBOX_OPTION_INVALID' });
});
