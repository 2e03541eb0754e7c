import { expect, test } from 'vitest';
import { classifyCall } from '../../../../src/brokers/workflow/transport/call-failure.ts';

/** An error as Temporal's client throws it. */
const failed = (code: number, message = 'said'): Error =>
  Object.assign(new Error(message), { code, details: '' });
const rules = { startCarries: true, missing: 'rejected' } as const;
const hold = (onWire: boolean, reason = 'Temporal: said') => ({
  kind: 'hold',
  hold: { scope: 'transport', reason },
  onWire,
});

test.each<[string, number, object]>([
  ['CANCELLED', 1, hold(true)],
  ['UNKNOWN', 2, { kind: 'ambiguous', error: 'said' }],
  ['INVALID_ARGUMENT', 3, { kind: 'permanent', error: 'said' }],
  ['DEADLINE_EXCEEDED', 4, hold(true)],
  ['NOT_FOUND', 5, { kind: 'rejected', error: 'said' }],
  ['ALREADY_EXISTS', 6, { kind: 'acknowledged', partition: null, offset: null }],
  ['PERMISSION_DENIED', 7, hold(false)],
  ['RESOURCE_EXHAUSTED', 8, hold(false)],
  ['FAILED_PRECONDITION', 9, { kind: 'rejected', error: 'said' }],
  ['ABORTED', 10, { kind: 'rejected', error: 'said' }],
  ['OUT_OF_RANGE', 11, { kind: 'ambiguous', error: 'said' }],
  ['UNIMPLEMENTED', 12, { kind: 'ambiguous', error: 'said' }],
  ['INTERNAL', 13, { kind: 'ambiguous', error: 'said' }],
  ['UNAVAILABLE', 14, hold(true)],
  ['DATA_LOSS', 15, { kind: 'ambiguous', error: 'said' }],
  ['UNAUTHENTICATED', 16, hold(false)],
])('%s has its outcome', (_name, code, outcome) => {
  expect(classifyCall(failed(code), rules)).toEqual(outcome);
});

test('a call that is too large for gRPC itself is permanent', () => {
  const error = 'grpc: received message larger than max (5000319 vs. 4194304)';
  expect(classifyCall(failed(8, error), rules)).toEqual({ kind: 'permanent', error });
});

test('a busy workflow concerns its message alone, a rate limit all of them', () => {
  const busy = 'Workflow is busy.';
  expect(classifyCall(failed(8, busy), rules)).toEqual({ kind: 'rejected', error: busy });
  const ofNamespace = 'namespace rate limit exceeded';
  expect(classifyCall(failed(8, ofNamespace), rules)).toEqual(hold(false, `Temporal: ${ofNamespace}`));
});

test('a lost connection and a missing namespace hold the transport', () => {
  expect(classifyCall(failed(2, 'transport error'), rules)).toEqual(hold(true, 'Temporal: transport error'));
  const missing = 'Namespace shop is not found.';
  expect(classifyCall(failed(5, missing), rules)).toEqual(hold(false, `Temporal: ${missing}`));
});

test('a workflow that is not running has the outcome of the option, and an ended one has not received the signal', () => {
  const signal = { startCarries: false, missing: 'permanent' } as const;
  expect(classifyCall(failed(5), signal)).toEqual({ kind: 'permanent', error: 'said' });
  expect(classifyCall(failed(6), signal)).toMatchObject({
    kind: 'permanent',
    error: expect.stringContaining('has ended'),
  });
  expect(classifyCall(failed(6), { ...signal, missing: 'rejected' })).toMatchObject({ kind: 'rejected' });
});

test('an error without a gRPC status is ambiguous', () => {
  expect(classifyCall(new Error('odd'), rules)).toEqual({ kind: 'ambiguous', error: 'odd' });
  expect(classifyCall('odd', rules)).toEqual({ kind: 'ambiguous', error: 'odd' });
});
