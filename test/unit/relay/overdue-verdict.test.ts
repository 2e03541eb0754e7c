import { expect, test } from 'vitest';
import { judgeOverdue } from '../../../src/relay/overdue-verdict.ts';

// That a message is unconfirmed, absent from what was processed, and due is the selection of the rows; these are the
// rules for those that were selected. All of them together: test/integration/receipts/stub-and-log.test.ts.

const maxSends = 3;
const at = (offset: string | null, sends = 1, partition: number | null = 4) => ({
  partition,
  offset,
  sends,
  before: false,
});
const none = { offsets: new Map<number, string>(), before: undefined, soon: false };
const passed = (offset: string) => ({ ...none, offsets: new Map([[4, offset]]) });

test('a message that the group has passed without a receipt is resent', () => {
  expect(judgeOverdue(at('7'), passed('8'), maxSends)).toBe('resend');
});

test('a message that the group has yet to reach waits: a committed offset is the first that is not done', () => {
  expect(judgeOverdue(at('7'), passed('7'), maxSends)).toBe('postpone');
  expect(judgeOverdue(at('7'), passed('0'), maxSends)).toBe('postpone');
});

test('a group that has committed nothing in the partition has not reached it', () => {
  expect(judgeOverdue(at('7'), none, maxSends)).toBe('postpone');
  expect(judgeOverdue(at('7'), { ...none, offsets: new Map([[5, '100']]) }, maxSends)).toBe('postpone');
});

test('a message with an unknown place is judged by the time until when the group has passed everything', () => {
  for (const unplaced of [at('7', 1, null), at(null)]) {
    const before = { ...unplaced, before: true };
    expect(judgeOverdue(before, none, maxSends)).toBe('resend');
    expect(judgeOverdue({ ...before, sends: 3 }, none, maxSends)).toBe('give-up');
    expect(judgeOverdue(unplaced, passed('8'), maxSends)).toBe('postpone');
    expect(judgeOverdue(unplaced, { ...passed('8'), soon: true }, maxSends)).toBe('wait');
  }
});

test('a message is resent below the maximum number of sends, and given up at it', () => {
  expect(judgeOverdue(at('7', 2), passed('8'), maxSends)).toBe('resend');
  expect(judgeOverdue(at('7', 3), passed('8'), maxSends)).toBe('give-up');
  expect(judgeOverdue(at('7', 4), passed('8'), maxSends)).toBe('give-up');
});

test('a message that is merely behind is not given up, however often it was sent', () => {
  expect(judgeOverdue(at('7', 9), passed('7'), maxSends)).toBe('postpone');
});

test('offsets are compared as numbers of any size', () => {
  expect(judgeOverdue(at('9'), passed('10'), maxSends)).toBe('resend');
  expect(judgeOverdue(at('9007199254740993'), passed('9007199254740993'), maxSends)).toBe('postpone');
  expect(judgeOverdue(at('9007199254740992'), passed('9007199254740993'), maxSends)).toBe('resend');
});
