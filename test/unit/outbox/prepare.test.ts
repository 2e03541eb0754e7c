import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { topic } from '../../../src/core/topic.ts';
import { prepare } from '../../../src/outbox/prepare.ts';

const anything = topic('anything', z.unknown());

test('a message without options is its payload alone', async () => {
  expect(await prepare(anything, { a: [1, null] }, {})).toEqual({ payload: '{"a":[1,null]}' });
});

test('options are passed on, the id in lower case, a time as ISO 8601 and a delay as milliseconds', async () => {
  const id = '018F0C0E-0000-7000-8000-0000000000AB';
  const common = { key: 'k', ref: 'r', id, headers: { a: 'b' } };
  const stored = { payload: '1', key: 'k', ref: 'r', id: id.toLowerCase(), headers: { a: 'b' } };

  expect(await prepare(anything, 1, { ...common, after: '2s' })).toEqual({ ...stored, afterMs: 2_000 });
  expect(await prepare(anything, 1, { ...common, at: new Date(0) })).toEqual({
    ...stored,
    at: '1970-01-01T00:00:00.000Z',
  });
});

test('the version of a topic is a header of its messages, except the first version', async () => {
  const second = topic('second', z.unknown(), { version: 2 });

  expect((await prepare(anything, 1, { headers: { a: 'b' } })).headers).toEqual({ a: 'b' });
  expect((await prepare(second, 1, {})).headers).toEqual({ 'outbox-version': '2' });
  expect((await prepare(second, 1, { headers: { a: 'b' } })).headers).toEqual({
    a: 'b',
    'outbox-version': '2',
  });
});

test('a sender cannot set a version of its own', async () => {
  await expect(prepare(anything, 1, { headers: { 'outbox-version': '2' } })).rejects.toMatchObject({
    code: 'OUTBOX_HEADER_INVALID',
    details: { header: 'outbox-version' },
  });
});

test('the schema checks what the consumer will parse: a Date arrives as a string, and defaults are left to the consumer', async () => {
  const dated = topic('dated', z.object({ at: z.iso.datetime(), n: z.number().default(3) }));
  const payload = { at: new Date(0) } as never;
  expect((await prepare(dated, payload, {})).payload).toBe('{"at":"1970-01-01T00:00:00.000Z"}');

  const wantsDate = topic('wants-date', z.object({ at: z.date() }));
  await expect(prepare(wantsDate, { at: new Date(0) }, {})).rejects.toMatchObject({
    code: 'OUTBOX_PAYLOAD_INVALID',
    details: { topic: 'wants-date', issues: [{ path: 'at' }] },
  });
});

test('the refusal says where a schema requires an object that is a string in JSON, and only there', async () => {
  const dated = topic('dated', z.object({ lines: z.array(z.object({ at: z.date() })), n: z.number() }));
  const refused = (payload: unknown) => prepare(dated, payload as never, {}).catch((error: unknown) => error);
  const said = 'the schema sees the JSON, as the consumer does, where this is a string';

  const lines = [{ at: new Date(0) }];
  expect(await refused({ lines, n: 1 })).toMatchObject({
    message: expect.stringContaining(said),
    details: { issues: [{ path: 'lines.0.at', message: expect.stringContaining(said) }] },
  });
  const silent = { details: { issues: [{ message: expect.not.stringContaining(said) }] } };
  expect(await refused({ lines: [{ at: 'today' }], n: 1 })).toMatchObject(silent);
  expect(await refused({ lines: [], n: [1] })).toMatchObject(silent);
  expect(await refused({ lines: [], n: { toJSON: () => undefined } })).toMatchObject(silent);
});

test('a refusal by the schema names at most ten problems by their paths', async () => {
  const nested = topic('nested', z.object({ lines: z.array(z.object({ n: z.number() })) }));
  const payload = { lines: Array.from({ length: 30 }, () => ({ n: 'x' })) } as never;
  await expect(prepare(nested, payload, {})).rejects.toMatchObject({
    details: { issues: Array.from({ length: 10 }, (_, index) => ({ path: `lines.${index}.n` })) },
  });
});

test('a value that JSON cannot represent is named by its path', async () => {
  const circle: Record<string, unknown> = {};
  circle['self'] = { again: circle };
  const cases: readonly (readonly [payload: unknown, said: string])[] = [
    [{ order: { lines: [{ price: 1 }, { price: 2n }] } }, 'order.lines.1.price is a BigInt'],
    [3n, '(whole) is a BigInt'],
    [circle, 'self.again contains itself'],
  ];
  for (const [payload, said] of cases) {
    await expect(prepare(anything, payload, {})).rejects.toMatchObject({
      code: 'OUTBOX_PAYLOAD_INVALID',
      message: expect.stringContaining(said),
    });
  }
});

test.each([
  ['to be written', anything, 150_000, /0\.0\.0\.… is nested more than 1000 deep/],
  // `JSON.stringify` still writes it, and the schema, which calls itself for each level, has no room on the stack.
  ['for its schema', topic('deep', z.json()), 4_000, /schema of the topic "deep" cannot check/],
] as const)('a payload that is nested too deep %s is refused', async (_what, of, depth, said) => {
  let payload: unknown = 1;
  for (let level = 0; level < depth; level += 1) payload = [payload];
  const refusal = { code: 'OUTBOX_PAYLOAD_INVALID', message: expect.stringMatching(said) };
  // Node 26 writes any depth.
  const written = of === anything ? writtenByNode(payload) : undefined;

  const answer = await prepare(of as typeof anything, payload, {}).catch((error: unknown) => error);
  expect(answer).toMatchObject(written === undefined ? refusal : { payload: written });
});

function writtenByNode(payload: unknown): string | undefined {
  try {
    return JSON.stringify(payload);
  } catch {
    return undefined;
  }
}

test('an error of a schema itself, which is no matter of depth, comes unchanged', async () => {
  const wrong = topic(
    'wrong',
    z.json().refine(() => new Date(Number.NaN).toISOString()),
  );
  await expect(prepare(wrong, 1, {})).rejects.toThrow(new RangeError('Invalid time value'));
});

test('an asynchronous schema is awaited', async () => {
  const slow = topic(
    'slow',
    z.string().refine(async (text) => text === 'yes', 'must be yes'),
  );
  expect((await prepare(slow, 'yes', {})).payload).toBe('"yes"');
  await expect(prepare(slow, 'no', {})).rejects.toMatchObject({ code: 'OUTBOX_PAYLOAD_INVALID' });
});

test('the payload of any JSON value reads back as that value', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ stringUnit: 'binary' }), async (value) => {
      const { payload } = await prepare(anything, value, {});
      expect(JSON.parse(payload)).toEqual(JSON.parse(JSON.stringify(value)));
      // Half characters are written as escapes, so the text is one that UTF-8 can carry.
      expect(Buffer.from(payload).toString()).toBe(payload);
    }),
  );
});
