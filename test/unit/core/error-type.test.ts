import { expect, test } from 'vitest';
import { errorTypeOf } from '../../../src/core/error-type.ts';
import { OutboxError } from '../../../src/core/errors.ts';

class CardError extends Error {
  override readonly name: string;
  readonly code: unknown;

  constructor(name: string, code?: unknown) {
    super('4242');
    this.name = name;
    this.code = code;
  }
}

test.each<[unknown, string, string]>([
  [new OutboxError('OUTBOX_STOPPED', '4242'), 'OUTBOX_STOPPED', 'OUTBOX_STOPPED'],
  [new CardError('CardError'), 'CardError', 'CardError'],
  [new CardError('CardError', '23505'), 'CardError', '23505'],
  [new CardError('Error', 'ECONNREFUSED'), 'Error', 'ECONNREFUSED'],
  [new CardError('CardError', 'card 4242'), 'CardError', 'CardError'],
  [new CardError('CardError', 4_242), 'CardError', 'CardError'],
  [new CardError('Error of card 4242'), '_OTHER', '_OTHER'],
  [new CardError('4242'), '_OTHER', '_OTHER'],
  ['4242', '_OTHER', '_OTHER'],
])('metrics say of %j that it is a %s, or with codes a %s', (error, type, withCodes) => {
  expect(errorTypeOf(error)).toBe(type);
  expect(errorTypeOf(error, true)).toBe(withCodes);
});
