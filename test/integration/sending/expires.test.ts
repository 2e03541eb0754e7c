import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { reschedule, send, sendBatch, topic } from '../../../src/index.ts';
import { changeMessages } from '../../../src/operations/change.ts';
import type { Transaction } from '../../../src/store/database/transaction.ts';
import { rescheduleChange } from '../../../src/store/message/reschedule.ts';
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

test('a replacement that keeps the due time and would expire before it is refused, and changes nothing', {
  tags: ['expired-not-sent'],
}, async () => {
  const options = { ref: 'kept', replace: { due: 'keep' } } as const;
  const { id } = await run((tx) => send(tx, codes, 1, { ...options, after: '1 hour' }));
  const row = () =>
    made.database.query(
      'select payload, expires_at, workflow_due_at, updated_at from outbox.message where id = $1',
      [id],
    );
  const before = await row();
  const next = await run(async (tx) => {
    const refused = send(tx, codes, 2, { ...options, expires: { after: '30 minutes' } });
    await expect(refused).rejects.toMatchObject({ code: 'OUTBOX_EXPIRY_BEFORE_DUE' });
    return send(tx, codes, 3);
  });
  expect(next.state).toBe('ready');
  expect(await row()).toEqual(before);

  await run((tx) => send(tx, codes, 4, { ...options, expires: { after: '61 minutes' } }));
  const kept = await read(id);
  expect(kept?.due).toBe(3_600);
  expect(kept?.seconds).toBeGreaterThanOrEqual(3_660);
  await expect(
    made.database.query(
      `select outbox.send('codes', '5', ref => 'kept', replace => true, keep_due => true, expires_after => '10 minutes')`,
    ),
  ).rejects.toMatchObject({ code: 'OB002', detail: 'OUTBOX_EXPIRY_BEFORE_DUE' });
});

test('a replacement whose kept due time has passed may have expired', async () => {
  const options = { ref: 'kept-late', replace: { due: 'keep' } } as const;
  const { id } = await run((tx) => send(tx, codes, 1, { ...options, after: '1 hour' }));
  await made.database.query(
    `update outbox.message set due_at = outbox.clock() - interval '1 s' where id = $1`,
    [id],
  );
  await run((tx) => send(tx, codes, 2, { ...options, expires: { at: new Date(0) } }));
  expect(await made.database.query('select payload from outbox.message where id = $1', [id])).toEqual([
    { payload: '2' },
  ]);
});

test('a due time moves up to the expiry and not past it, by a service, an operator and plain SQL', {
  tags: ['expired-not-sent'],
}, async () => {
  const options = { ref: 'moved', after: '1 hour', expires: { after: '2 hours' } } as const;
  const { id } = await run((tx) => send(tx, codes, 1, options));
  const usable = await run(async (tx) => {
    for (const handle of ['moved', { id }])
      await expect(reschedule(tx, codes, handle, { after: '121 minutes' })).rejects.toMatchObject({
        code: 'OUTBOX_EXPIRY_BEFORE_DUE',
        details: { topic: 'codes' },
      });
    return send(tx, codes, 2);
  });
  expect(usable.state).toBe('ready');
  const past = `select outbox.reschedule('codes', ref => 'moved', after => '3 hours')`;
  await expect(made.database.query(past)).rejects.toMatchObject({
    code: 'OB002',
    detail: 'OUTBOX_EXPIRY_BEFORE_DUE',
  });
  const shift = rescheduleChange({ shiftMs: 3_600_000 });
  const { expiresAt } = (
    await made.database.query<{ expiresAt: string }>(
      'select expires_at::text as "expiresAt" from outbox.message where id = $1',
      [id],
    )
  )[0] ?? { expiresAt: '' };
  const operator = { actor: 'ada', reason: 'as told' };
  for (const change of [shift, rescheduleChange({ at: expiresAt })])
    expect(await changeMessages(made.database, { ids: [id] }, change, operator)).toMatchObject([
      { result: 'past-expiry', state: 'waiting' },
    ]);
  expect(await read(id)).toMatchObject({ due: 3_600 });

  expect(await run((tx) => reschedule(tx, codes, 'moved', { after: '119 minutes' }))).toBe('rescheduled');
  const moved = await read(id);
  expect(moved?.seconds).toBe(7_200);
  expect(moved?.due).toBeGreaterThanOrEqual(7_140);
  expect(await run((tx) => reschedule(tx, codes, 'moved', { after: 0 }))).toBe('rescheduled');
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
