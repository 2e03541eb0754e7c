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

function inRing(): AggregateError {
  const error = selfContained();
  error.cause = new Error('x', { cause: new AggregateError([error, error.errors], 'y', { cause: error }) });
  return error;
}

function wrapped(make: () => unknown): Error {
  const inner = make();
  const error = new Error('outer', {
    cause: new AggregateError([inner, new Error('x', { cause: inner })], 'many'),
  });
  return error;
}

/** Made within the property: the library of properties cannot hold every proxy. */
const plain: fc.Arbitrary<() => unknown> = fc.oneof(
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
    () => Object.defineProperty(new Error('x'), 'cause', { get: selfContained }),
    () => new AggregateError([Object.create(null), new Error('x')], 'all failed'),
    selfContained,
    inRing,
    revoked,
    () => Symbol('x'),
    () => new Proxy(new Error('x'), { get: throwing }),
    () => new Proxy({}, { getPrototypeOf: throwing }),
  ),
);

const hostile = fc.oneof(
  plain,
  plain.map((make) => () => wrapped(make)),
);

test('anything that is thrown has a text, a fault or none, and may be judged', {
  tags: ['handler-may-throw-anything'],
}, () => {
  fc.assert(
    fc.property(hostile, (make) => {
      const thrown = make();
      expect(typeof reasonOf(thrown)).toBe('string');
      expect(typeof namedReasonOf(thrown)).toBe('string');
      expect(namedReasonOf(wrapped(make))).toMatch(/^Error: outer: /);
      expect(reasonOf(wrapped(make)).length).toBeLessThan(1_000);
      expect(() => readable(thrown) instanceof Error).not.toThrow();
      expect(typeof errorText(thrown)).toBe('string');
      expect(typeof errorText(permanent(thrown))).toBe('string');
      expect([undefined, 'conflict', 'away']).toContain(faultOf(thrown));
    }),
  );
});
