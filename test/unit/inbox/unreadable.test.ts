import { expect, test } from 'vitest';
import { OutboxError } from '../../../src/core/errors.ts';
import { refusalReasonOf, unreadable } from '../../../src/inbox/reading/unreadable.ts';
import { incoming } from './incoming.ts';

test('a refusal keeps its reason, its location and its cause', () => {
  const cause = new Error('why');
  const refusal = unreadable(incoming(), 'unknown-topic', 'nobody knows it', cause);

  expect(refusalReasonOf(refusal)).toBe('unknown-topic');
  expect(refusal).toMatchObject({
    message: 'The message at orders/0, offset 10, cannot be read: nobody knows it.',
    details: { address: 'orders', partition: 0, offset: '10', reason: 'unknown-topic' },
    cause,
    retryable: false,
  });
});

test('only a refusal is one: an error of a handler is not, whatever it looks like', () => {
  const details = { reason: 'invalid' };
  expect(refusalReasonOf(new OutboxError('OUTBOX_MESSAGE_UNREADABLE', 'x', { details }))).toBeUndefined();
  expect(refusalReasonOf(new Error('x'))).toBeUndefined();
  expect(refusalReasonOf(undefined)).toBeUndefined();
});

test('foreign text is made safe for a table and a terminal', () => {
  const { message } = unreadable(incoming(), 'unknown-topic', `a\0b\u001b[2J\ud800 😀 ${'x'.repeat(5_000)}`);

  expect(message).toContain('a\u{fffd}b\u{fffd}[2J\u{fffd} 😀 xxx');
  expect(message.length).toBeLessThan(2_200);
});
