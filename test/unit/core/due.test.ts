import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dueOf } from '../../../src/core/due.ts';

const dayMs = 86_400_000;
const yearTenThousandMs = Date.parse('+010000-01-01T00:00:00Z');
const outOfRange: unknown = expect.objectContaining({ code: 'OUTBOX_DELAY_OUT_OF_RANGE' });

test.each([['2030-01-01'], [1_893_456_000_000], [new Date('x')], [null]])('%s is not a valid time', (at) => {
  expect(() => dueOf({ at: at as never }, dayMs)).toThrow(
    expect.objectContaining({
      code: 'OUTBOX_OPTION_INVALID',
      message: `The option "at" (${String(at)}) is not a valid Date.`,
    }),
  );
});

test('an invalid delay and one beyond the limit are distinguished, and the limit is named', () => {
  expect(() => dueOf({ after: 'soon' as never }, dayMs)).toThrow(
    expect.objectContaining({ code: 'OUTBOX_OPTION_INVALID', message: expect.stringContaining('(soon)') }),
  );
  expect(() => dueOf({ after: '2 days' }, dayMs)).toThrow(/longest delay of the topic, 1d\.$/);
});

test('a delay from 0 to the limit is passed on unchanged', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: dayMs, noNaN: true }), (after) => {
      expect(dueOf({ after }, dayMs)).toEqual({ afterMs: after });
    }),
  );
});

test('any other delay is refused', () => {
  const below = fc.double({ max: -Number.MIN_VALUE, noNaN: true, noDefaultInfinity: true });
  const above = fc.double({ min: dayMs, minExcluded: true, noNaN: true, noDefaultInfinity: true });
  fc.assert(
    fc.property(fc.oneof(below, above), (after) => {
      expect(() => dueOf({ after }, dayMs)).toThrow(outOfRange);
    }),
  );
});

test('every time before the year 10000 is written with a four-digit year', () => {
  fc.assert(
    fc.property(fc.date({ max: new Date(yearTenThousandMs - 1), noInvalidDate: true }), (at) => {
      const { at: text = '' } = dueOf({ at }, dayMs);
      expect(text).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
      expect(text.startsWith('0000')).toBe(false);
    }),
  );
});

test('every later time is refused', () => {
  fc.assert(
    fc.property(fc.date({ min: new Date(yearTenThousandMs), noInvalidDate: true }), (at) => {
      expect(() => dueOf({ at }, dayMs)).toThrow(outOfRange);
    }),
  );
});
