import fc from 'fast-check';
import { expect, test } from 'vitest';
import { OutboxError } from '../../../src/core/errors.ts';
import { assertHeaders, headerLimitBytes } from '../../../src/core/headers.ts';

function refusalOf(headers: Record<string, unknown>): unknown {
  try {
    assertHeaders(headers as Record<string, string>);
    return undefined;
  } catch (error) {
    return error;
  }
}

test.each([
  {},
  { tenant: 'blue' },
  { 'x-request-id': '7', 'a.b_c': '' },
  { traceparent: '00-…' },
  { ce: '1' },
])('%j is allowed', (headers) => {
  expect(refusalOf(headers)).toBeUndefined();
});

test.each([
  ['Tenant', 'a'],
  ['', 'a'],
  ['-a', 'a'],
  ['a b', 'a'],
  ['a\n', 'a'],
  ['é', 'a'],
  ['a'.repeat(129), 'a'],
  ['ce_id', 'a'],
  ['ce_anything', 'a'],
  ['outbox-attempt', 'a'],
  ['content-type', 'a'],
  ['a', 7],
  ['a', null],
  ['a', 'x\0'],
  ['a', '\udc00'],
])('the header %j of %j is refused by its name', (name, value) => {
  expect(refusalOf({ fine: 'a', [name]: value })).toMatchObject({
    code: 'OUTBOX_HEADER_INVALID',
    details: { header: name },
  });
});

test('a name that only begins like a reserved one is allowed', () => {
  expect(refusalOf({ 'content-type-of-mine': 'a', cent: 'b', outbox: 'c' })).toBeUndefined();
});

test('headers may have up to 32 KiB together, as written by jsonb', () => {
  const written = ({ a, b }: Record<'a' | 'b', string>) => Buffer.byteLength(`{"a": "${a}", "b": "${b}"}`);
  const a = 'é'.repeat(1_000);
  const b = 'x'.repeat(headerLimitBytes - written({ a, b: '' }));

  expect(refusalOf({ a, b })).toBeUndefined();
  expect(refusalOf({ a, b: `${b}x` })).toMatchObject({
    code: 'OUTBOX_HEADER_INVALID',
    details: { bytes: headerLimitBytes + 1 },
  });
});

test('any input is allowed or refused with the one code', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.anything()), (headers) => {
      const refusal = refusalOf(headers);
      const code = refusal instanceof OutboxError ? refusal.code : refusal;
      expect([undefined, 'OUTBOX_HEADER_INVALID']).toContain(code);
    }),
  );
});

test.each([
  ['null', null],
  ['a text', 'a'],
  ['a list', [['a', 'b']]],
  ['a Map', new Map([['a', 'b']])],
  ['Headers', new Headers({ a: 'b' })],
  ['search parameters', new URLSearchParams('a=b')],
])('%s is refused, because it has no headers as properties', (_, headers) => {
  expect(refusalOf(headers as unknown as Record<string, unknown>)).toMatchObject({
    code: 'OUTBOX_HEADER_INVALID',
    message: 'The headers must be a plain object: names with strings.',
  });
});

test('an object without a prototype is plain', () => {
  expect(refusalOf(Object.setPrototypeOf({ a: 'b' }, null) as Record<string, unknown>)).toBeUndefined();
});
