import { expect, test } from 'vitest';
import { isRequired, listOf, object, recordOf, sparse } from '../../../../src/core/options/collections.ts';
import { lazy } from '../../../../src/core/options/lazy.ts';
import type { Reader } from '../../../../src/core/options/reader.ts';
import { several } from '../../../../src/core/options/servers.ts';
import {
  asGiven,
  defaulted,
  duration,
  either,
  firstFit,
  flag,
  func,
  matching,
  oneOf,
  optional,
  text,
  where,
  whole,
} from '../../../../src/core/options/values.ts';

const count = whole(1, 200, 50);

test.each<readonly [what: string, Reader<unknown>, schema: object | undefined]>([
  ['a text', text(), { type: 'string', minLength: 1 }],
  ['a text of a form', matching(/^[a-z]+$/, 'letters'), { type: 'string', pattern: '^[a-z]+$' }],
  ['a word', oneOf(['up', 'down'], 'up'), { type: 'string', enum: ['up', 'down'], default: 'up' }],
  ['a flag', flag(), { type: 'boolean' }],
  ['a whole number', count, { type: 'integer', minimum: 1, maximum: 200, default: 50 }],
  ['one without a greatest', whole(0, undefined), { type: 'integer', minimum: 0 }],
  ['a duration', duration(0), { anyOf: [{ type: 'string' }, { type: 'number' }] }],
  ['a word or a number', either(['all'], whole(1, 2)), { anyOf: [{ enum: ['all'] }, whole(1, 2).schema] }],
  [
    'a list',
    listOf(flag(), 'flags', { least: 1, most: 9 }),
    { type: 'array', items: { type: 'boolean' }, minItems: 1, maxItems: 9 },
  ],
  ['a list of any length', listOf(flag(), 'flags'), { type: 'array', items: { type: 'boolean' } }],
  ['one or several', several(flag(), /,/), { type: 'array', items: { type: 'boolean' }, minItems: 1 }],
  ['a record', recordOf(flag(), 'flags'), { type: 'object', additionalProperties: { type: 'boolean' } }],
  ['what is read with a rule', where(text(), 'must be short', () => true), text().schema],
  ['what is given on', asGiven(text()), text().schema],
  ['what may be missing', optional(flag()), flag().schema],
  ['a function', func(), undefined],
])('%s describes itself', (_what, reader, schema) => {
  expect(reader.schema).toEqual(schema);
});

test('an object describes its options, and requires those without a default', () => {
  const reader = object({
    name: text(),
    size: count,
    on: optional(flag()),
    inner: defaulted(object({ size: count })),
    late: lazy(text()),
  });

  expect(reader.schema).toEqual({
    type: 'object',
    properties: {
      name: text().schema,
      size: count.schema,
      on: flag().schema,
      inner: {
        type: 'object',
        properties: { size: count.schema },
        required: [],
        additionalProperties: false,
      },
      late: {},
    },
    required: ['name', 'late'],
    additionalProperties: false,
  });
});

test('an option is required if nothing is read where nothing is given', () => {
  expect(
    [text(), optional(text()), text('normal'), lazy(text()), lazy(text(), 'normal')].map(isRequired),
  ).toEqual([true, false, false, true, false]);
});

test('a text stands for the number or flag that it writes in plain digits and words, and else for itself', () => {
  expect(['7', '0x10', '1e2', '-1', ''].map((written) => count.ofText?.(written))).toEqual([
    7,
    '0x10',
    '1e2',
    '-1',
    '',
  ]);
  expect(['true', 'false', 'yes', ''].map((written) => flag().ofText?.(written))).toEqual([
    true,
    false,
    'yes',
    '',
  ]);
  expect(optional(count).ofText?.('7')).toBe(7);
  expect(either(['all'], count).ofText?.('7')).toBe(7);
  expect(text().ofText).toBeUndefined();
});

test('an object is read without what is not given, but with its defaults', () => {
  const reader = sparse({ size: count, on: optional(flag()), note: optional(text()) });
  const read = (given: object) => reader.read(given, { path: '', refuse: () => new Error('late') as never });

  expect(read({ on: false })).toEqual({ size: 50, on: false });
  expect(Object.keys(read({}) ?? {})).toEqual(['size']);
  expect(reader.schema).toEqual(object({ size: count, on: optional(flag()), note: optional(text()) }).schema);
});

test('the first reader that fits reads, and where none does, one sentence says what would', () => {
  const reader = firstFit([sparse({ up: flag() }), sparse({ down: flag() })], 'up or down');
  const read = (given: unknown) =>
    reader.read(given, { path: 'way', refuse: () => new Error('late') as never });

  expect([read({ up: true }), read({ down: true })]).toEqual([{ up: true }, { down: true }]);
  expect(() => read({ up: true, down: true })).toThrow('way must be up or down');
  expect(reader.schema).toMatchObject({ anyOf: [{ required: ['up'] }, { required: ['down'] }] });
});
