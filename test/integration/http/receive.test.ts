import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PrismaClient } from '../../../dev/generated/shop/client.ts';
import {
  permanent,
  type ReceivedRequest,
  type ReceiveOptions,
  receive,
  receiver,
} from '../../../src/http.ts';
import { createTestDatabase, type TestDatabase } from '../../support/fixtures/database.ts';
import { openPrisma } from '../../support/fixtures/prisma.ts';
import { signed, webhookSecret } from '../../support/fixtures/webhook.ts';

type Tx = Parameters<Parameters<PrismaClient['$transaction']>[0]>[0];
type Options = ReceiveOptions<Tx>;

const secret = webhookSecret('k');

let made: TestDatabase;
let prisma: PrismaClient;

beforeAll(async () => {
  made = await createTestDatabase();
  await made.database.query('create table effect (id text, payload text)');
  prisma = openPrisma(made.url);
});
afterAll(async () => {
  await prisma.$disconnect();
  await made.drop();
});

/** Options, and what was reported. */
function optionsOf(given: Partial<Options> = {}): Options & { readonly reported: unknown[] } {
  const reported: unknown[] = [];
  return {
    client: prisma,
    group: 'shop',
    secret,
    report: (error) => reported.push(error),
    ...given,
    reported,
  };
}

const only = ({ reported: _reported, ...options }: ReturnType<typeof optionsOf>): Options => options;

async function effect(tx: Tx, { id, payload }: ReceivedRequest): Promise<void> {
  await tx.$executeRaw`insert into effect values (${id}, ${JSON.stringify(payload)})`;
}

async function effects(id: string): Promise<number> {
  return (await made.database.query('select 1 from effect where id = $1', [id])).length;
}

const told = async (response: Response): Promise<string> => `${response.status} ${await response.text()}`;

test('a message is applied once, and its repetition succeeds', { tags: ['http-effect-once'] }, async () => {
  const { id, request } = signed('{"order":7}', {
    more: { 'ce-type': 'orders', 'ce-partitionkey': '%C5%BE', 'x-a': 'b' },
  });
  const seen: ReceivedRequest[] = [];
  const work = async (tx: Tx, message: ReceivedRequest): Promise<void> => {
    seen.push(message);
    await effect(tx, message);
  };

  const answers = [];
  for (let n = 0; n < 3; n += 1) answers.push(await told(await receive(request(), only(optionsOf()), work)));

  expect(answers).toEqual(['204 ', '204 ', '204 ']);
  expect(await effects(id)).toBe(1);
  expect(seen).toHaveLength(1);
  expect(seen[0]).toMatchObject({
    id,
    topic: 'orders',
    key: 'ž',
    payload: { order: 7 },
    headers: { ce_type: 'orders', 'x-a': 'b' },
  });
  expect(Math.abs((seen[0]?.signedAt.getTime() ?? 0) - Date.now())).toBeLessThan(30_000);
});

test('messages with the same id of two senders, each with its own group, are both handled', async () => {
  const shop = signed('{"of":"shop"}');
  const bank = signed('{"of":"bank"}', { id: shop.id });
  const answers = [];
  for (const [group, { request }] of [
    ['hooks-of-shop', shop],
    ['hooks-of-bank', bank],
    ['hooks-of-bank', bank],
  ] as const)
    answers.push(await told(await receive(request(), only(optionsOf({ group })), effect)));

  expect(answers).toEqual(['204 ', '204 ', '204 ']);
  expect(await effects(shop.id)).toBe(2);
});

test('of concurrent repetitions one has its effect, and all succeed, also at a handler that was created once', async () => {
  const { id, request } = signed('{}');
  const handle = receiver(only(optionsOf()), effect);
  const answers = await Promise.all(Array.from({ length: 5 }, () => handle(request())));
  expect(answers.map(({ status }) => status)).toEqual([204, 204, 204, 204, 204]);
  expect(await effects(id)).toBe(1);
});

test('work that fails has no effect, is reported and is done at the repetition', async () => {
  const options = optionsOf();
  const { id, request } = signed('{}');
  const failing = async (tx: Tx, message: ReceivedRequest): Promise<void> => {
    await effect(tx, message);
    throw new Error('the stock of customer 7 is empty');
  };
  expect(await told(await receive(request(), only(options), failing))).toBe('500 The work failed.');
  expect(options.reported).toMatchObject([{ message: 'the stock of customer 7 is empty' }]);
  expect(await effects(id)).toBe(0);
  expect(await told(await receive(request(), only(options), effect))).toBe('204 ');
  expect(await effects(id)).toBe(1);
});

test('`permanent` is answered so that the transport of the sender fails the message at once', async () => {
  const { request } = signed('{}');
  const never = () => Promise.reject(permanent(new Error('not enough stock')));
  expect(await told(await receive(request(), only(optionsOf()), never))).toBe('422 not enough stock');
});

test('work that caught an error of the database does not succeed', {
  tags: ['http-effect-once'],
}, async () => {
  const options = optionsOf();
  const { id, request } = signed('{}');
  const swallowing = async (tx: Tx, message: ReceivedRequest): Promise<void> => {
    await effect(tx, message);
    await tx.$executeRaw`select 1 / 0`.catch(() => undefined);
  };
  expect((await receive(request(), only(options), swallowing)).status).toBe(500);
  expect(options.reported).toMatchObject([{ code: 'OUTBOX_TRANSACTION_ROLLED_BACK' }]);
  expect((await receive(request(), only(options), effect)).status).toBe(204);
  expect(await effects(id)).toBe(1);
});

test('work that returns no promise is refused', async () => {
  const options = optionsOf();
  const { request } = signed('{}');
  const forgetful = (() => undefined) as unknown as () => Promise<void>;
  expect((await receive(request(), only(options), forgetful)).status).toBe(500);
  expect(options.reported).toMatchObject([{ code: 'OUTBOX_PROMISE_MISSING' }]);
});

const minutesAgo = (minutes: number): Date => new Date(Date.now() - minutes * 60_000);

test.each<[string, Parameters<typeof signed>[1], string]>([
  ['another secret', { by: webhookSecret('x') }, '401 No matching signature found.'],
  ['an old signature', { at: minutesAgo(6) }, '401 Message timestamp too old.'],
  ['a signature of the future', { at: minutesAgo(-6) }, '401 Message timestamp too new.'],
  ['no signature', { more: { 'webhook-signature': '' } }, '401 Missing required headers.'],
  [
    'a broken signature',
    { more: { 'webhook-signature': 'v1 v1, v2,abc' } },
    '401 No matching signature found.',
  ],
  ['the id of another message', { more: { 'webhook-id': 'm-0' } }, '401 No matching signature found.'],
  [
    'a later time',
    { more: { 'webhook-timestamp': String(Math.floor(Date.now() / 1_000) + 60) } },
    '401 No matching signature found.',
  ],
  ['an id that is too long', { id: 'x'.repeat(513) }, '400 The id is not one of 1 to 512 bytes without NUL.'],
])('with %s no work is done', { tags: ['http-effect-once'] }, async (_what, given, answer) => {
  const { request } = signed('{}', given);
  const work = () => Promise.reject(new Error('it was done'));
  const options = optionsOf();
  expect(await told(await receive(request(), only(options), work))).toBe(answer);
  expect(options.reported).toEqual([]);
});

test('while the secret changes, both the old and the new one are accepted', async () => {
  let secrets: readonly string[] = [secret];
  const options = only(optionsOf({ secret: () => secrets }));
  const status = async (by: string) =>
    (await receive(signed('{}', { by }).request(), options, effect)).status;
  expect([await status(secret), await status(webhookSecret('n'))]).toEqual([204, 401]);
  secrets = [webhookSecret('n'), secret];
  expect([await status(secret), await status(webhookSecret('n'))]).toEqual([204, 204]);
});

test('a body is text unless it is declared JSON, and is then parsed', async () => {
  const seen: unknown[] = [];
  const work = async (_tx: Tx, { payload }: ReceivedRequest): Promise<void> => void seen.push(payload);
  const answer = async (body: string, type: string) =>
    told(await receive(signed(body, { more: { 'content-type': type } }).request(), only(optionsOf()), work));
  expect(await answer('plain', 'text/plain')).toBe('204 ');
  expect(await answer('[1]', 'application/cloudevents+json; charset=utf-8')).toBe('204 ');
  expect(await answer('{', 'application/json')).toBe('400 The body is not JSON.');
  expect(seen).toEqual(['plain', [1]]);
});

test('a body that is not UTF-8 is refused, whatever its signature', async () => {
  const { request } = signed('\uFFFD', {});
  const broken = new Request(request().url, {
    method: 'POST',
    headers: request().headers,
    body: new Uint8Array([0xff]),
  });
  expect(await told(await receive(broken, only(optionsOf()), effect))).toBe(
    '400 The body is not text in UTF-8.',
  );
});

test('a body that is too long is read no further, with or without a declared length', async () => {
  const options = only(optionsOf({ maxBytes: 10 }));
  const { request } = signed('"12345678901"');
  expect(await told(await receive(request(), options, effect))).toBe('413 The body is longer than 10 bytes.');
  let pulled = 0;
  const endless = new ReadableStream({
    pull(controller) {
      pulled += 1;
      controller.enqueue(new Uint8Array(6));
    },
  });
  const chunked = new Request('http://shop.test/', {
    method: 'POST',
    body: endless,
    duplex: 'half',
  });
  expect((await receive(chunked, options, effect)).status).toBe(413);
  expect(pulled).toBeLessThan(5);
});

test('a body that was read before is an error of the caller, and reported', async () => {
  const read = signed('{}').request();
  await read.text();
  const options = optionsOf();
  const unread = { code: 'OUTBOX_OPTION_INVALID' };
  await expect(receive(read, only(options), effect)).rejects.toMatchObject(unread);
  expect(options.reported).toMatchObject([unread]);
});
