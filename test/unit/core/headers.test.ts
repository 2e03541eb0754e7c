import fc from 'fast-check';
import { expect, test } from 'vitest';
import { assertHeaders, headerLimitBytes } from '../../../src/core/headers.ts';

const refused = (details: object) => expect.objectContaining({ code: 'OUTBOX_HEADER_INVALID', details });

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
  expect(refusalOf({ fine: 'a', [name]: value })).toEqual(refused({ header: name }));
});

test('a name that only begins like a reserved one is allowed', () => {
  expect(refusalOf({ 'content-type-of-mine': 'a', cent: 'b', outbox: 'c' })).toBeUndefined();
});

test('headers may have 32 KiB together, as jsonb writes them, and not a byte more', () => {
  const written = ({ a, b }: Record<'a' | 'b', string>) => Buffer.byteLength(`{"a": "${a}", "b": "${b}"}`);
  const a = 'é'.repeat(1_000);
  const b = 'x'.repeat(headerLimitBytes - written({ a, b: '' }));

  expect(refusalOf({ a, b })).toBeUndefined();
  expect(refusalOf({ a, b: `${b}x` })).toEqual(refused({ bytes: headerLimitBytes + 1 }));
});

test('whatever is passed is allowed or refused with the one code', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.anything()), (headers) => {
      const refusal = refusalOf(headers);
      expect(refusal === undefined || refusal).toEqual(
        refusal === undefined ? true : expect.objectContaining({ code: 'OUTBOX_HEADER_INVALID' }),
      );
    }),
  );
});
