import fc from 'fast-check';
import { expect, test } from 'vitest';
import { namedReasonOf, readable, reasonOf } from '../../../src/core/reason.ts';
import { faultOf } from '../../../src/inbox/handling/infrastructure-faults.ts';
import { errorText } from '../../../src/inbox/handling/kept.ts';
import { permanent } from '../../../src/inbox/verdict.ts';

function throwing(): never {
  throw new Error('not readable');
}

function selfContained(): AggregateError {
  const errors: unknown[] = [];
  const error = new AggregateError(errors, 'all failed');
  error.errors.push(error, error);
  return error;
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** Made within the property: the library of properties cannot hold every proxy. */
const hostile: fc.Arbitrary<() => unknown> = fc.oneof(
  fc
    .anything({ withNullPrototype: true, withBigInt: true, withSparseArray: true })
    .map((value) => () => value),
  fc.constantFrom<() => unknown>(
    () => Object.create(null),
    () => Object.assign(Object.create(null), { message: 'x' }),
    () => ({ toString: throwing }),
    () => ({ toString: () => ({}) }),
    () => Object.defineProperty({}, 'code', { get: throwing }),
    () => Object.defineProperty(new Error('x'), 'message', { get: throwing }),
    () => Object.defineProperty(new Error('x'), 'name', { value: Object.create(null) }),
    () => Object.defineProperty(new Error('x'), 'message', { value: Symbol('x') }),
    () => Object.defineProperty(new Error('x'), 'cause', { get: throwing }),
    () => new AggregateError([Object.create(null), new Error('x')], 'all failed'),
    selfContained,
    revoked,
    () => Symbol('x'),
    () => new Proxy(new Error('x'), { get: throwing }),
    () => new Proxy({}, { getPrototypeOf: throwing }),
  ),
);

test('anything that is thrown has a text, a fault or none, and may be judged', () => {
  fc.assert(
    fc.property(hostile, (make) => {
      const thrown = make();
      expect(typeof reasonOf(thrown)).toBe('string');
      expect(typeof namedReasonOf(thrown)).toBe('string');
      expect(() => readable(thrown) instanceof Error).not.toThrow();
      expect(typeof errorText(thrown)).toBe('string');
      expect(typeof errorText(permanent(thrown))).toBe('string');
      expect([undefined, 'conflict', 'away']).toContain(faultOf(thrown));
    }),
  );
});
