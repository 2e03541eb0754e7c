import { expect, test } from 'vitest';
import { OutboxError } from '../../../src/core/errors.ts';
import { withoutText } from '../../../src/core/health.ts';
import { untoldError } from '../../../src/core/untold-error.ts';

test.each([
  ['Error: cannot charge 4242', 'Error: …'],
  ['CardError: cannot charge 4242', 'CardError: …'],
  ['OUTBOX_PAYLOAD_INVALID: field 4242', 'OUTBOX_PAYLOAD_INVALID: …'],
  ['shop.example:443 answered 422: field 4242', 'answered 422: …'],
  ['TypeError', 'TypeError'],
  ['4242 is no card', '…'],
  ['4242Error is no class', '…'],
  ['', '…'],
])('of %j a reader without the right to payloads is told %j', (text, told) => {
  expect(untoldError(text)).toBe(told);
});

test('health for everybody has the code of a failure, and no text', () => {
  const since = new Date();
  const failed = (error: unknown) => withoutText({ what: 'address orders', since, error });
  const told = new OutboxError('OUTBOX_STOPPED', 'It stopped at 4242.');
  expect(failed(told)).toEqual({ what: 'address orders', since, code: 'OUTBOX_STOPPED' });
  expect(failed(new Error('4242'))).toEqual({ what: 'address orders', since });
  expect(failed('4242')).toEqual({ what: 'address orders', since });
});
