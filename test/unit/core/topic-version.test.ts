import { expect, test } from 'vitest';
import { z } from 'zod';
import { type TopicOptions, topic } from '../../../src/core/topic.ts';
import { oldestVersion, UpcastFailure, upcastPayload, versionOf } from '../../../src/core/topic-version.ts';

const rulesOf = (options: TopicOptions) => topic('t', z.unknown(), options).rules;
const add = (letter: string) => (old: unknown) => `${String(old)}${letter}`;
const failureOf = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};

test.each<[string, object]>([
  ['version', { version: 0 }],
  ['version', { version: 1.5 }],
  ['version', { version: 1_000_001 }],
  ['version', { version: '2' }],
  ['upcast', { version: 2, upcast: 'none' }],
  ['upcast', { version: 2, upcast: null }],
  ['upcast.2', { version: 2, upcast: { 2: String } }],
  ['upcast.1', { upcast: { 1: String } }],
  ['upcast.0', { version: 2, upcast: { 0: String } }],
  ['upcast.01', { version: 2, upcast: { '01': String } }],
  ['upcast.first', { version: 2, upcast: { first: String } }],
  ['upcast.1', { version: 2, upcast: { 1: 'String' } }],
])('the option "%s" of %j is refused by its name', (option, options) => {
  expect(() => topic('t', z.unknown(), options)).toThrow(
    expect.objectContaining({
      code: 'OUTBOX_OPTION_INVALID',
      details: expect.objectContaining({ topic: 't', option }),
    }),
  );
});

test('a version may be 1,000,000', () => {
  expect(rulesOf({ version: 1_000_000 }).version).toBe(1_000_000);
});

test.each([
  [undefined, 1],
  ['1', 1],
  ['7', 7],
  ['1000000', 1_000_000],
  ['1000001', undefined],
  ['0', undefined],
  ['01', undefined],
  [' 1', undefined],
  ['', undefined],
  ['1e3', undefined],
])('the header %j is version %s', (text, version) => {
  expect(versionOf(text)).toBe(version);
});

test('upcasters are applied in turn, from the version of the payload to the current one', () => {
  const rules = rulesOf({ version: 4, upcast: { 3: add('c'), 1: add('a'), 2: add('b') } });

  expect(upcastPayload(rules, 1, 'x')).toBe('xabc');
  expect(upcastPayload(rules, 3, 'x')).toBe('xc');
  expect(upcastPayload(rules, 4, 'x')).toBe('x');
});

test('the oldest version is the one from which upcasters lead to the current one without a gap', () => {
  expect(oldestVersion(rulesOf({}))).toBe(1);
  expect(oldestVersion(rulesOf({ version: 3 }))).toBe(3);
  expect(oldestVersion(rulesOf({ version: 3, upcast: { 1: add('a') } }))).toBe(3);
  expect(oldestVersion(rulesOf({ version: 4, upcast: { 1: add('a'), 3: add('c') } }))).toBe(3);
  expect(oldestVersion(rulesOf({ version: 3, upcast: { 1: add('a'), 2: add('b') } }))).toBe(1);
});

test('a failing upcaster is named by its version, with its input and its error', () => {
  const cause = new TypeError('no name');
  const rules = rulesOf({
    version: 3,
    upcast: {
      1: add('a'),
      2: () => {
        throw cause;
      },
    },
  });

  const failure = failureOf(() => upcastPayload(rules, 1, 'x'));

  expect(failure).toBeInstanceOf(UpcastFailure);
  expect(failure).toMatchObject({ from: 2, payload: 'xa', message: 'no name', cause });
});

test.each([
  ['a promise', () => Promise.resolve(1)],
  ['a promise that fails', () => Promise.reject(new Error('late'))],
])('an upcaster that returns %s fails, because nothing would await it', (_, upcaster) => {
  const failure = failureOf(() => upcastPayload(rulesOf({ version: 2, upcast: { 1: upcaster } }), 1, 'x'));

  expect(failure).toMatchObject({ name: 'UpcastFailure', message: 'it returned a promise' });
});

test('a version without an upcaster is not passed through', () => {
  expect(failureOf(() => upcastPayload(rulesOf({ version: 2 }), 1, 'x'))).toBeInstanceOf(UpcastFailure);
});
