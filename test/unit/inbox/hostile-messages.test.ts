import { expect, test } from 'vitest';
import { z } from 'zod';
import { type Topic, topic } from '../../../src/core/topic.ts';
import { readMessage } from '../../../src/inbox/reading/read-message.ts';
import { refusalReasonOf } from '../../../src/inbox/reading/unreadable.ts';
import { incoming } from './incoming.ts';
import { refusalOf } from './refusal.ts';

type Tree = readonly Tree[];
const tree: z.ZodType<Tree> = z.lazy(() => z.array(tree));
const anything = topic('anything', z.unknown());
const trees = topic('trees', tree);
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

const payloadOf = async <Output>(of: Topic<unknown, Output>, body: Uint8Array) =>
  (await readMessage(of, incoming({ body }), { id: 'id-1', attempt: 1 })).payload;
const reasonOf = async (of: Topic, body: Uint8Array) =>
  refusalReasonOf(await refusalOf(() => payloadOf(of, body)));

test('JSON of 10,000 levels is read where the schema does not look into it', {
  tags: ['hostile-messages-refused'],
}, async () => {
  let depth = 0;
  let value = await payloadOf(anything, bytes('['.repeat(10_000) + ']'.repeat(10_000)));
  while (Array.isArray(value)) {
    depth += 1;
    value = value[0];
  }

  expect(depth).toBe(10_000);
});

test.for([
  ['at once', trees],
  [
    'by a promise',
    topic(
      'slow-trees',
      tree.refine(async () => true),
    ),
  ],
  ['where an upcaster looked into it', topic('old', z.unknown(), { version: 2, upcast: { 1: depthOf } })],
] as const)('a schema that runs out of stack refuses its message: %s', async ([, of]) => {
  // 100,000: deeper than any stack of the default size.
  expect(await reasonOf(of, bytes('['.repeat(100_000) + ']'.repeat(100_000)))).toBe('invalid');
});

test('a payload of 10 MB is read', async () => {
  const payload = await payloadOf(anything, bytes(JSON.stringify({ text: 'x'.repeat(10_000_000) })));
  expect(z.object({ text: z.string() }).parse(payload).text).toHaveLength(10_000_000);
});

test('an invalid payload of 10 MB is refused with an explanation', {
  tags: ['hostile-messages-refused'],
}, async () => {
  const body = bytes(JSON.stringify(Array.from({ length: 100_000 }, (_, n) => `${n} ${'x'.repeat(95)}`)));
  const numbers = topic('numbers', z.array(z.number()));

  const { message } = await refusalOf(() => payloadOf(numbers, body));

  expect(message.length).toBeLessThan(2_200);
});

test('a NUL is not JSON, and an escaped one is a character like others', async () => {
  expect(await reasonOf(anything, bytes('"a\0b"'))).toBe('unreadable');
  expect(await reasonOf(anything, bytes('{}\0'))).toBe('unreadable');
  expect(await payloadOf(anything, bytes(String.raw`"a\u0000b"`))).toBe('a\0b');
});

test('half a surrogate pair is not UTF-8, and an escaped one arrives as it was sent', {
  tags: ['hostile-messages-refused'],
}, async () => {
  expect(await reasonOf(anything, Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22))).toBe('unreadable');
  expect(await payloadOf(anything, bytes(String.raw`"\ud800"`))).toBe('\ud800');
  expect(await payloadOf(anything, bytes('"😀"'))).toBe('😀');
});

test.for([
  ['an invalid first byte', [0xff]],
  ['a truncated character', [0xe2, 0x82]],
  ['an overlong form', [0xc0, 0xaf]],
  ['a code point beyond the last', [0xf4, 0x90, 0x80, 0x80]],
] as const)('%s is unreadable', async ([, inner]) => {
  expect(await reasonOf(anything, Uint8Array.of(0x22, ...inner, 0x22))).toBe('unreadable');
});

test('a byte order mark is skipped', async () => {
  expect(await payloadOf(anything, Uint8Array.of(0xef, 0xbb, 0xbf, 0x31))).toBe(1);
});

test('numbers are doubles: huge ones become infinite, long integers lose digits', async () => {
  expect(await payloadOf(anything, bytes('1e308'))).toBe(1e308);
  expect(await payloadOf(anything, bytes('1e309'))).toBe(Number.POSITIVE_INFINITY);
  expect(await payloadOf(anything, bytes('9223372036854775807'))).toBe(2 ** 63);
  expect(await reasonOf(topic('finite', z.number()), bytes('1e309'))).toBe('invalid');
  expect(await reasonOf(topic('safe', z.int()), bytes('9223372036854775807'))).toBe('invalid');
});

test('a body that names the prototype changes none', { tags: ['hostile-messages-refused'] }, async () => {
  const payload = await payloadOf(anything, bytes('{"__proto__":{"admin":true}}'));

  expect(Object.keys(payload as object)).toEqual(['__proto__']);
  expect(Object.getPrototypeOf(payload)).toBe(Object.prototype);
});

test.for([
  ['a parser', anything, '{"n":secret-4711}'],
  ['a schema', topic('one', z.object({ n: z.number('got secret-4711') })), '{"n":"secret-4711"}'],
  [
    'an upcaster',
    topic('old', z.unknown(), { version: 2, upcast: { 1: (old) => failing(JSON.stringify(old)) } }),
    '{"n":"secret-4711"}',
  ],
] as const)('the error of %s does not quote the body', async ([, of, body]) => {
  const refusal = await refusalOf(() => payloadOf(of, bytes(body)));

  expect(refusal.message).not.toContain('secret');
  expect(JSON.stringify(refusal.details)).not.toContain('secret');
});

test('a parser reports where it stopped', async () => {
  const refusal = await refusalOf(() => payloadOf(anything, bytes('{"n":1 secret}')));
  expect(refusal.message).toContain('not JSON (character 7)');
  expect(refusal.cause).toBeUndefined();
});

test('field names that a column cannot store do not reach the error', async () => {
  const refusal = await refusalOf(() =>
    payloadOf(topic('map', z.record(z.string(), z.number())), bytes(String.raw`{"a\u0000\ud800\u001b":"x"}`)),
  );
  expect(refusal.message).toContain('(a\u{fffd}\u{fffd}\u{fffd}: ');
});

function depthOf(value: unknown): number {
  return Array.isArray(value) ? 1 + depthOf(value[0]) : 0;
}

function failing(text: string): never {
  throw new Error(`cannot take ${text}`);
}
