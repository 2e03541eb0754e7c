import { expect, test } from 'vitest';
import { readInputs } from '../../../src/api/read-inputs.ts';
import { nearTimeOfFlag, timeOfFlag } from '../../../src/cli/flag-values.ts';
import { statedTime } from '../../../src/core/written-time.ts';
import { givenTime } from '../../../src/operations/inputs/values.ts';

/** What the HTTP API reads; else what it says. */
function overHttp(text: string): string {
  try {
    return readInputs('field', { at: givenTime }, { at: text }).at.toISOString();
  } catch (error) {
    return error instanceof Error ? error.message.replace(/^.*"at" /, '') : '';
  }
}

/** What the command line reads; else what it says. */
function typed(text: string, read = timeOfFlag): string {
  try {
    return read('at', text).toISOString();
  } catch (error) {
    return error instanceof Error ? error.message : '';
  }
}

test.each([
  ['2026-11-27T10:00Z', '2026-11-27T10:00:00.000Z'],
  ['2026-11-27T10:00:00Z', '2026-11-27T10:00:00.000Z'],
  ['2026-11-27T10:00+02:00', '2026-11-27T08:00:00.000Z'],
  ['2026-11-27T10:00:07.5-00:30', '2026-11-27T10:30:07.500Z'],
  ['2026-11-27 10:00Z', '2026-11-27T10:00:00.000Z'],
  ['2026-11-27t10:00z', '2026-11-27T10:00:00.000Z'],
  ['2026-11-27', '2026-11-27T00:00:00.000Z'],
  ['2028-02-29T10:00Z', '2028-02-29T10:00:00.000Z'],
])('%s is the same time on the command line and over HTTP', (text, read) => {
  expect([overHttp(text), typed(text)]).toEqual([read, read]);
  expect(typed(text, (option, given) => nearTimeOfFlag(option, given, 'ago'))).toBe(read);
});

test.each([
  'soon',
  '2026-11-27T',
  '2026-11-27T10Z',
  '2026-11-27T25:00Z',
  '2026-02-30T10:00Z',
  '2026-02-29',
  '2026-13-01',
  '2026-11-27 tomorrow',
  '60',
  'never-1',
  // Years that PostgreSQL and consumers do not read, here or in UTC.
  '0000-01-01T00:00Z',
  '-000001-01-01T00:00Z',
  '0001-01-01T00:00+23:59',
  '9999-12-31T23:59-00:01',
  // A plus sign that a query has as a space.
  '2026-11-27T10:00 02:00',
  '',
])('"%s" is no time, neither here nor there', (text) => {
  expect(overHttp(text)).toBe('must be a time such as 2026-11-27T08:14Z');
  expect(typed(text)).toBe(`--at takes an ISO time such as 2026-11-27T08:14Z, and "${text}" is none.`);
});

test('a time without a zone is of this machine where it is typed, and refused over HTTP', () => {
  expect(typed('2026-11-27T10:00')).toBe(new Date(2026, 10, 27, 10).toISOString());
  expect(overHttp('2026-11-27T10:00')).toBe('must say its zone, such as Z or +02:00');
});

test('a program states a time with its zone, and nothing else is one', () => {
  expect(statedTime('2026-11-27T10:00:07.123456789+02:00')).toEqual(new Date('2026-11-27T08:00:07.123Z'));
  for (const text of [
    '60',
    '0',
    '-1',
    'never-1',
    'tomorrow 5',
    'PT60S',
    '2026',
    '2026-11-27',
    '2026-11-27T10:00',
    '',
  ])
    expect([text, statedTime(text)]).toEqual([text, undefined]);
  expect(statedTime(undefined)).toBeUndefined();
});
