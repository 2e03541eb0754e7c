import { expect, test } from 'vitest';
import type { Duration } from '../../../src/core/duration.ts';
import { faultOf } from '../../../src/inbox/handling/infrastructure-faults.ts';
import { errorText } from '../../../src/inbox/handling/kept.ts';
import { permanent, retryAfter, verdictOf } from '../../../src/inbox/verdict.ts';

const closed = new TypeError('the bank is closed');

test('a verdict has the message of its error, and the error as its cause', () => {
  expect(permanent(closed)).toMatchObject({ message: closed.message, cause: closed });
  expect(retryAfter(closed, '5m')).toMatchObject({ message: closed.message, cause: closed });
  expect(permanent('no such account')).toMatchObject({ message: 'no such account' });
});

test('a verdict is about the thrown error, not about its cause', () => {
  expect(verdictOf(permanent(closed))).toEqual({ kind: 'permanent' });
  expect(verdictOf(retryAfter(closed, '5m'))).toEqual({ kind: 'retry-after', inMs: 300_000 });
  expect(verdictOf(retryAfter(permanent(closed), 0))).toEqual({ kind: 'retry-after', inMs: 0 });
  expect(verdictOf(closed)).toBeUndefined();
  expect(verdictOf(new Error('other', { cause: permanent(closed) }))).toBeUndefined();
});

test('the error itself has no verdict: it may be thrown elsewhere without one', () => {
  permanent(closed);

  expect(verdictOf(closed)).toBeUndefined();
});

test('the text for people is that of the error, not of the verdict', () => {
  expect(errorText(permanent(closed))).toBe('TypeError: the bank is closed');
  expect(errorText(retryAfter(permanent(closed), '1s'))).toBe('TypeError: the bank is closed');
});

test('an error of the database with a verdict no longer counts as a fault of the database', () => {
  const conflict = Object.assign(new Error('deadlock'), { code: '40P01' });

  expect(faultOf(conflict)).toBe('conflict');
  expect(faultOf(permanent(conflict))).toBeUndefined();
});

test.for<[unknown]>([[-1], ['-5m'], ['soon'], [Number.NaN], ['36501 days'], [Infinity]])(
  'a delay of %s is refused, with the error as the cause',
  ([delay]) => {
    expect(() => retryAfter(closed, delay as Duration)).toThrow(
      expect.objectContaining({ code: 'OUTBOX_OPTION_INVALID', details: { option: 'delay' }, cause: closed }),
    );
  },
);

test('the shortest and the longest delay are none and 36,500 days', () => {
  expect(verdictOf(retryAfter(closed, 0))).toEqual({ kind: 'retry-after', inMs: 0 });
  expect(verdictOf(retryAfter(closed, '36500 days'))).toMatchObject({ inMs: 36_500 * 86_400_000 });
});
