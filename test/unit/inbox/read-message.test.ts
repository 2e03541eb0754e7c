import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { type Topic, topic } from '../../../src/core/topic.ts';
import { readMessage } from '../../../src/inbox/reading/read-message.ts';
import { refusalReasonOf } from '../../../src/inbox/reading/unreadable.ts';
import { incoming } from './incoming.ts';
import { refusalOf } from './refusal.ts';

const orders = topic('orders', z.object({ n: z.number(), when: z.string().default('now') }));
type Incoming = Parameters<typeof incoming>[0];

const read = async <Output>(of: Topic<unknown, Output>, message: Incoming) =>
  readMessage(of, incoming(message), { id: 'id-1', attempt: 1 });
const refused = (of: Topic, message: Incoming) => refusalOf(() => read(of, message));

test('the handler gets the output of the schema, not the body', async () => {
  expect((await read(orders, { json: { n: 1, more: true } })).payload).toEqual({ n: 1, when: 'now' });
});

test('a message is read synchronously where the schema is synchronous', () => {
  expect(readMessage(orders, incoming(), { id: 'id-1', attempt: 1 })).not.toBeInstanceOf(Promise);
});

test('a copy of a message by spread or structuredClone is complete', async () => {
  const headers = { ce_id: 'a', tenant: 'blue' };

  const message = await readMessage(orders, incoming({ headers, key: 'k' }), { id: 'a', attempt: 1 });

  for (const copy of [{ ...message }, structuredClone(message)])
    expect(copy).toEqual({
      id: 'a',
      topic: 'orders',
      key: 'k',
      payload: { n: 1, when: 'now' },
      headers,
      attempt: 1,
      sentAt: new Date(0),
      address: 'orders',
      partition: 0,
      offset: '10',
    });
});

const lazy = { id: 'a', attempt: 1, lazy: true } as const;

test('a message of a batch is also logged completely', async () => {
  const headers = { ce_id: 'a', tenant: 'blue' };

  const shown = inspect(await readMessage(orders, incoming({ headers, key: 'k' }), lazy));

  for (const part of ["id: 'a'", "key: 'k'", "tenant: 'blue'", 'sentAt: 1970-01-01', "offset: '10'"])
    expect(shown).toContain(part);
});

test('a message of a batch can be copied without its fields, as tests do to compare', async () => {
  const message = await readMessage(orders, incoming({ key: 'k' }), lazy);

  const { key, headers, sentAt } = Object.create(Reflect.getPrototypeOf(message)) as typeof message;

  expect([key, headers, sentAt]).toEqual([null, {}, new Date(0)]);
});

test('the sending time is that of the sender, otherwise that of the broker', async () => {
  const sent = async (ce_time: string | undefined) => {
    const headers = { ce_id: 'a', ...(ce_time !== undefined && { ce_time }) };
    return (await read(orders, { headers })).sentAt;
  };

  expect(await sent('2026-01-02T03:04:05Z')).toEqual(new Date('2026-01-02T03:04:05Z'));
  expect(await sent('soon')).toEqual(new Date(0));
  expect(await sent(undefined)).toEqual(new Date(0));
});

test.each([Number.NaN, -1, 9e15, Date.UTC(10_000, 0)])(
  'a timestamp of %s, which is no time, is that of arrival',
  async (ms) => {
    const before = Date.now();
    const { sentAt } = await read(orders, { headers: { ce_id: 'a' }, timestamp: new Date(ms) });
    expect(sentAt.getTime()).toBeGreaterThanOrEqual(before);
    expect(sentAt.getTime()).toBeLessThanOrEqual(Date.now());
  },
);

test.for([
  ['without a body', { body: null }, 'unreadable', 'it has no body'],
  ['with an empty body', { body: new Uint8Array() }, 'unreadable', 'not JSON'],
  ['with a truncated body', { body: Uint8Array.of(0x7b) }, 'unreadable', 'not JSON'],
  ['with bytes that are not UTF-8', { body: Uint8Array.of(0x22, 0xff, 0x22) }, 'unreadable', 'not UTF-8'],
  ['with another shape', { json: { n: 'one' } }, 'invalid', 'n: Invalid input'],
] as const)('a message %s is refused with its location', async ([, message, reason, why]) => {
  expect(await refused(orders, message)).toMatchObject({
    code: 'OUTBOX_MESSAGE_UNREADABLE',
    message: expect.stringMatching(new RegExp(`orders/0, offset 10.*${why}`)),
    details: { address: 'orders', partition: 0, offset: '10', reason },
  });
});

test('an asynchronous schema is awaited, and its refusal is treated like any other', async () => {
  const slow = topic(
    'slow',
    z.string().refine(async (text) => text === 'yes', 'must be yes'),
  );

  expect((await read(slow, { json: 'yes' })).payload).toBe('yes');
  const refusal = await refused(slow, { json: 'no' });
  expect(refusalReasonOf(refusal)).toBe('invalid');
  expect(String(refusal)).toContain('(whole): must be yes');
});

test('ten problems of a payload are named, and no more', async () => {
  const many = topic('many', z.array(z.string()));
  const { message } = await refused(many, { json: Array.from({ length: 20 }, () => true) });

  expect(message).toContain('9: Invalid');
  expect(message).not.toContain('10: Invalid');
});

const versioned = topic('orders', z.object({ name: z.string(), total: z.number() }), {
  version: 4,
  upcast: {
    2: (old) => ({ ...z.object({ title: z.string() }).parse(old), total: 0 }),
    3: (old) => {
      const { title, ...rest } = z.looseObject({ title: z.string() }).parse(old);
      return { ...rest, name: title };
    },
  },
});
const ofVersion = (version: string, json: unknown): Incoming => ({
  headers: { 'outbox-version': version },
  json,
});

test('payloads of older versions are upcast before the schema sees them', async () => {
  const payloadOf = async (version: string, json: unknown) =>
    (await read(versioned, ofVersion(version, json))).payload;

  expect(await payloadOf('4', { name: 'a', total: 1 })).toEqual({ name: 'a', total: 1 });
  expect(await payloadOf('3', { title: 'a', total: 2 })).toEqual({ name: 'a', total: 2 });
  expect(await payloadOf('2', { title: 'a' })).toEqual({ name: 'a', total: 0 });
});

test.for([
  ['one without an upcaster', ofVersion('1', {}), 'version 1, and .* only 2 to 4'],
  ['the first, by default', { headers: {}, json: {} }, 'version 1, and'],
  ['a newer one', ofVersion('5', {}), 'version 5, and'],
  ['not a number', ofVersion('four', {}), 'outbox-version is no version'],
] as const)('a message whose version is %s is refused', async ([, message, why]) => {
  expect(await refused(versioned, message)).toMatchObject({
    message: expect.stringMatching(new RegExp(why)),
    details: { reason: 'unknown-version' },
  });
});

test('a version is refused before the body is read', async () => {
  const refusal = await refused(versioned, { headers: { 'outbox-version': '9' }, body: null });
  expect(refusalReasonOf(refusal)).toBe('unknown-version');
});

test('an error of an upcaster makes its message invalid', async () => {
  const strict = topic('strict', z.unknown(), {
    version: 2,
    upcast: {
      1: () => {
        throw new Error('it was never released');
      },
    },
  });

  expect(await refused(strict, {})).toMatchObject({
    message: expect.stringContaining('the upcaster of version 1 of the topic "strict" failed (it was never'),
    details: { reason: 'invalid' },
  });
});

test('a schema that throws makes its message invalid', async () => {
  const broken = topic(
    'broken',
    schemaOf(() => asserted('it has a bug')),
  );

  expect(await refused(broken, {})).toMatchObject({
    message: expect.stringContaining('the schema of the topic "broken" failed (it has a bug)'),
    details: { reason: 'invalid' },
  });
});

test('an error of a schema’s promise is not a refusal: the service it asked may answer later', async () => {
  const asking = topic(
    'asking',
    schemaOf(() => Promise.reject(new Error('no connection'))),
  );

  const refusal: unknown = await read(asking, {}).catch((error: unknown) => error);

  expect(refusal).toEqual(new Error('no connection'));
  expect(refusalReasonOf(refusal)).toBeUndefined();
});

function schemaOf(validate: () => never | Promise<never>): Topic['schema'] {
  return { '~standard': { version: 1, vendor: 'test', validate } };
}

function asserted(why: string): never {
  throw new Error(why);
}
