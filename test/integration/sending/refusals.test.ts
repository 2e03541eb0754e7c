import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { PrismaClient } from '../../../dev/generated/shop/client.ts';
import {
  cancel,
  OutboxError,
  type OutboxErrorCode,
  reschedule,
  type SendOptions,
  send,
  sendBatch,
  type Transaction,
  topic,
} from '../../../src/index.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { byPg, byPrisma, type RunTransaction } from '../../support/fixtures/transaction-ways.ts';

let made: TestDatabase;
let prisma: PrismaClient;

const orders = topic('orders', z.object({ text: z.string() }));
const anything = topic('anything', z.unknown());
/** Its row allows 100 bytes and an hour; what the code says is wider, so that the database decides. */
const narrow = topic('narrow', z.unknown());
const takenId = randomUUID();

beforeAll(async () => {
  made = await createTestDatabase();
  prisma = openPrisma(made.url);
  await made.database.query(
    `create table public.note (text text);
     insert into outbox.topic (name, transport, address, retry_ms, payload_limit_bytes, delay_limit)
       values ('narrow', 'kafka', 'narrow', '{}', 100, '1 hour')`,
  );
  await byPg(made.database)(async (tx) => {
    await send(tx, orders, { text: 'first' }, { id: takenId, key: 'k' });
    await send(tx, orders, { text: 'waits' }, { ref: 'taken', after: '1 hour' });
  });
});

afterAll(async () => {
  await prisma.$disconnect();
  await made.drop();
});

async function count(): Promise<{ messages: number; notes: number }> {
  const [row] = await made.database.query<{ messages: number; notes: number }>(
    `select (select count(*)::integer from outbox.message) as messages, (select count(*)::integer from public.note) as notes`,
  );
  return row ?? { messages: -1, notes: -1 };
}

/** Makes the call between two writes of the business, commits, and answers what the call was refused with. */
async function refused(
  run: RunTransaction,
  call: (tx: Transaction) => Promise<unknown>,
): Promise<OutboxError> {
  const before = await count();
  const failure = await run(async (tx) => {
    await tx.$queryRawUnsafe(`insert into public.note values ('before') returning text`);
    const thrown = await call(tx).then(
      () => undefined,
      (error: unknown) => error,
    );
    await tx.$queryRawUnsafe(`insert into public.note values ('after') returning text`);
    await send(tx, anything, 'the transaction is usable');
    return thrown;
  });
  expect(failure).toBeInstanceOf(OutboxError);
  expect(await count()).toEqual({ messages: before.messages + 1, notes: before.notes + 2 });
  return failure as OutboxError;
}

const half = '\ud800';

/** Options of other types, as JavaScript allows them. */
function wrong(options: object): SendOptions {
  return options;
}

const text = { text: 'x' };

const refusals: readonly [string, OutboxErrorCode, (tx: Transaction) => Promise<unknown>][] = [
  ['an unknown option', 'OUTBOX_OPTION_INVALID', (tx) => send(tx, orders, text, wrong({ kye: 'k' }))],
  [
    'after and at',
    'OUTBOX_OPTION_INVALID',
    (tx) => send(tx, orders, text, wrong({ after: 1, at: new Date() })),
  ],
  ['an empty key', 'OUTBOX_KEY_INVALID', (tx) => send(tx, orders, text, { key: '' })],
  ['a key with NUL', 'OUTBOX_KEY_INVALID', (tx) => send(tx, orders, text, { key: 'a\0b' })],
  ['a key with a lone surrogate', 'OUTBOX_KEY_INVALID', (tx) => send(tx, orders, text, { key: half })],
  [
    'a key of 257 bytes',
    'OUTBOX_KEY_INVALID',
    (tx) => send(tx, orders, text, { key: `${'é'.repeat(128)}x` }),
  ],
  ['a key that is a number', 'OUTBOX_KEY_INVALID', (tx) => send(tx, orders, text, wrong({ key: 7 }))],
  ['an empty ref', 'OUTBOX_REF_INVALID', (tx) => send(tx, orders, text, { ref: '' })],
  ['a ref with NUL', 'OUTBOX_REF_INVALID', (tx) => send(tx, orders, text, { ref: 'a\0b' })],
  ['a ref of 257 bytes', 'OUTBOX_REF_INVALID', (tx) => send(tx, orders, text, { ref: 'x'.repeat(257) })],
  ['an id that is not a UUID', 'OUTBOX_ID_INVALID', (tx) => send(tx, orders, text, { id: 'order-42' })],
  [
    'a header in capitals',
    'OUTBOX_HEADER_INVALID',
    (tx) => send(tx, orders, text, { headers: { Tenant: 'a' } }),
  ],
  ['a reserved header', 'OUTBOX_HEADER_INVALID', (tx) => send(tx, orders, text, { headers: { ce_id: 'a' } })],
  ['a header with NUL', 'OUTBOX_HEADER_INVALID', (tx) => send(tx, orders, text, { headers: { a: '\0' } })],
  [
    'a header with a lone surrogate',
    'OUTBOX_HEADER_INVALID',
    (tx) => send(tx, orders, text, { headers: { a: half } }),
  ],
  [
    'headers over 32 KiB',
    'OUTBOX_HEADER_INVALID',
    (tx) => send(tx, orders, text, { headers: { a: 'x'.repeat(32_760) } }),
  ],
  [
    'a payload that violates its schema',
    'OUTBOX_PAYLOAD_INVALID',
    (tx) => send(tx, orders, { text: 7 } as never),
  ],
  ['no payload', 'OUTBOX_PAYLOAD_INVALID', (tx) => send(tx, anything, undefined)],
  ['a payload over 900 KiB', 'OUTBOX_PAYLOAD_TOO_LARGE', (tx) => send(tx, anything, 'x'.repeat(921_599))],
  [
    'a payload over the limit of its topic',
    'OUTBOX_PAYLOAD_TOO_LARGE',
    (tx) => send(tx, narrow, 'x'.repeat(99)),
  ],
  [
    'a delay over 400 days',
    'OUTBOX_DELAY_OUT_OF_RANGE',
    (tx) => send(tx, orders, text, { after: '401 days' }),
  ],
  [
    'a delay over the limit of its topic',
    'OUTBOX_DELAY_OUT_OF_RANGE',
    (tx) => send(tx, narrow, 1, { after: '61 minutes' }),
  ],
  [
    'a time after 400 days',
    'OUTBOX_DELAY_OUT_OF_RANGE',
    (tx) => send(tx, orders, text, { at: new Date(Date.now() + 401 * 86_400_000) }),
  ],
  [
    'an id with other content',
    'OUTBOX_ID_TAKEN',
    (tx) => send(tx, orders, { text: 'other' }, { id: takenId, key: 'k' }),
  ],
  ['an id with another key', 'OUTBOX_ID_TAKEN', (tx) => send(tx, orders, { text: 'first' }, { id: takenId })],
  [
    'an id of another topic',
    'OUTBOX_ID_TAKEN',
    (tx) => send(tx, anything, { text: 'first' }, { id: takenId, key: 'k' }),
  ],
  [
    'a ref that is already waiting',
    'OUTBOX_REF_TAKEN',
    (tx) => send(tx, orders, text, { ref: 'taken', after: 1_000 }),
  ],
  [
    'an id twice in one batch',
    'OUTBOX_ID_TAKEN',
    (tx) => {
      const id = randomUUID();
      return sendBatch(tx, orders, [
        { payload: text, id },
        { payload: text, id: id.toUpperCase() },
      ]);
    },
  ],
  [
    'a ref twice in one batch',
    'OUTBOX_REF_TAKEN',
    (tx) =>
      sendBatch(tx, orders, [
        { payload: text, ref: 'twice', after: 1_000 },
        { payload: text, ref: 'twice', after: 1_000 },
      ]),
  ],
  [
    'a batch with one invalid message',
    'OUTBOX_REF_TAKEN',
    (tx) =>
      sendBatch(tx, orders, [
        { payload: text },
        { payload: text, ref: 'taken', after: 1_000 },
        { payload: text },
      ]),
  ],
  ['cancel by a ref with NUL', 'OUTBOX_REF_INVALID', (tx) => cancel(tx, orders, 'a\0b')],
  [
    'cancel by an id that is not a UUID',
    'OUTBOX_ID_INVALID',
    (tx) => cancel(tx, orders, { id: '-'.repeat(36) }),
  ],
  ['reschedule by an empty ref', 'OUTBOX_REF_INVALID', (tx) => reschedule(tx, orders, '', { after: 1 })],
  ['reschedule without a time', 'OUTBOX_OPTION_INVALID', (tx) => reschedule(tx, orders, 'taken', {})],
  [
    'reschedule beyond the limit',
    'OUTBOX_DELAY_OUT_OF_RANGE',
    (tx) => reschedule(tx, orders, 'taken', { after: '401 days' }),
  ],
  [
    'reschedule to after the limit',
    'OUTBOX_DELAY_OUT_OF_RANGE',
    (tx) => reschedule(tx, orders, 'taken', { at: new Date(Date.now() + 401 * 86_400_000) }),
  ],
];

describe.each([
  ['Prisma', (): RunTransaction => byPrisma(prisma)],
  ['pg', (): RunTransaction => byPg(made.database)],
])('through %s', (_, way) => {
  test.each(refusals)(
    '%s is refused with %s, leaves nothing, and the transaction commits',
    async (_what, code, call) => {
      expect((await refused(way(), call)).code).toBe(code);
    },
  );
});

test('the refusal of a batch names the message, by the library and by the database', async () => {
  const byCode = await refused(byPg(made.database), (tx) =>
    sendBatch(tx, orders, [{ payload: text }, { payload: text, key: '' }]),
  );
  const byDatabase = await refused(byPg(made.database), (tx) =>
    sendBatch(tx, orders, [{ payload: text }, { payload: text, ref: 'taken', after: 1_000 }]),
  );
  expect(byCode).toMatchObject({ details: { index: 1 }, message: expect.stringContaining('Message 1') });
  expect(byDatabase).toMatchObject({ details: { index: 1, topic: 'orders' } });
});

test('the refusal of a payload names the paths and never contains the payload', async () => {
  const secret = 'correct horse battery staple';
  const failure = await refused(byPg(made.database), (tx) => send(tx, orders, { txt: secret } as never));

  expect(failure.details).toMatchObject({ topic: 'orders', issues: [{ path: 'text' }] });
  expect(JSON.stringify([failure.message, failure.details])).not.toContain(secret);
});

test('values at the limits are allowed', async () => {
  const run = byPg(made.database);
  const padding = 32_768 - '{"a": ""}'.length;
  await run(async (tx) => {
    await send(tx, anything, 'x'.repeat(921_598));
    await send(tx, narrow, 'x'.repeat(98));
    await send(tx, orders, text, { key: 'é'.repeat(128), ref: 'x'.repeat(256) });
    await send(tx, orders, text, { headers: { a: 'x'.repeat(padding) } });
    await tx.$queryRawUnsafe(`select pg_sleep(0.05)`);
    expect(await send(tx, orders, text, { after: '400 days' })).toMatchObject({ state: 'waiting' });
    expect(await send(tx, narrow, 1, { after: '1 hour', ref: 'edge' })).toMatchObject({ state: 'waiting' });
    expect(await reschedule(tx, narrow, 'edge', { after: '1 hour' })).toBe('rescheduled');
  });
  const tooMuch = refused(run, (tx) => send(tx, orders, text, { headers: { a: 'x'.repeat(padding + 1) } }));
  expect((await tooMuch).code).toBe('OUTBOX_HEADER_INVALID');
});

test('a ref is free again once its message no longer waits, and is separate per topic', async () => {
  await byPg(made.database)(async (tx) => {
    await send(tx, orders, text, { ref: 'again', after: '1 hour' });
    await send(tx, anything, text, { ref: 'again', after: '1 hour' });
    await cancel(tx, orders, 'again');
    await send(tx, orders, text, { ref: 'again', after: '1 hour' });
    await cancel(tx, orders, 'again');
    await send(tx, orders, text, { ref: 'again' });
    await send(tx, orders, text, { ref: 'again' });
  });
});
