import kafkajs from 'kafkajs';
import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { brokerAnswers, classify, type Failure, isTimeout } from '../../../src/transports/kafka/failure.ts';

interface CodeTable {
  readonly errorCodes: readonly { readonly type: string; readonly code: number }[];
  readonly createErrorFromCode: (code: number) => Error;
}
const { errorCodes, createErrorFromCode } = createRequire(import.meta.url)(
  'kafkajs/src/protocol/error',
) as CodeTable;

const written = { connected: true, written: true };
const unwritten = { connected: true, written: false };

/** As kafkajs throws with retries off: what may be retried is wrapped. */
function thrown(error: Error): Error {
  return new kafkajs.KafkaJSNumberOfRetriesExceeded(error, { retryCount: 0, retryTime: 300 });
}

function answer(type: string): Failure {
  const code = errorCodes.find((known) => known.type === type)?.code ?? Number.NaN;
  return classify(thrown(createErrorFromCode(code)), written);
}

const expected: readonly (readonly [type: string, failure: Partial<Failure>])[] = [
  ['MESSAGE_TOO_LARGE', { kind: 'split', single: 'permanent' }],
  ['INVALID_RECORD', { kind: 'split', single: 'permanent' }],
  ['CORRUPT_MESSAGE', { kind: 'split', single: 'rejected' }],
  ['POLICY_VIOLATION', { kind: 'split', single: 'rejected' }],
  ['NOT_LEADER_FOR_PARTITION', { kind: 'hold', scope: 'topic', stored: false }],
  ['LEADER_NOT_AVAILABLE', { kind: 'hold', scope: 'topic', stored: false }],
  ['NOT_ENOUGH_REPLICAS', { kind: 'hold', scope: 'topic', stored: false }],
  ['NOT_ENOUGH_REPLICAS_AFTER_APPEND', { kind: 'hold', scope: 'topic', stored: true }],
  ['REQUEST_TIMED_OUT', { kind: 'hold', scope: 'topic', stored: true }],
  ['UNKNOWN_TOPIC_OR_PARTITION', { kind: 'hold', scope: 'topic', stored: false }],
  ['TOPIC_AUTHORIZATION_FAILED', { kind: 'hold', scope: 'topic', stored: false }],
  ['SASL_AUTHENTICATION_FAILED', { kind: 'hold', scope: 'transport', stored: true }],
];

for (const [type, failure] of expected) {
  test(`the answer ${type} means ${JSON.stringify(failure)}`, () => {
    expect(answer(type)).toMatchObject({ ...failure, reason: expect.stringContaining(type) });
  });
}

test('every answer in the table is one that kafkajs can name', () => {
  const names = new Set(errorCodes.map(({ type }) => type));
  expect(Object.keys(brokerAnswers).filter((type) => !names.has(type))).toEqual([]);
});

test('an answer that kafkajs does not know blames a message, which is retried', () => {
  expect(classify(createErrorFromCode(12_345), written)).toMatchObject({ kind: 'split', single: 'rejected' });
});

test('no answer blames a message before anything was written', () => {
  expect(classify(createErrorFromCode(12_345), unwritten)).toMatchObject({ kind: 'hold', stored: false });
  expect(classify(createErrorFromCode(58), unwritten)).toMatchObject({ kind: 'hold', stored: false });
});

test('a lost connection after writing is maybe stored, and before it is not', () => {
  const lost = thrown(new kafkajs.KafkaJSConnectionError('gone', { broker: 'b:1' }));
  expect(classify(lost, written)).toEqual({ kind: 'hold', reason: 'gone', scope: 'topic', stored: true });
  expect(classify(lost, unwritten)).toEqual({ kind: 'hold', reason: 'gone', scope: 'topic', stored: false });
});

test('a lost connection concerns the transport when no other is open', () => {
  const lost = thrown(new kafkajs.KafkaJSConnectionError('gone', { broker: 'b:1' }));
  expect(classify(lost, { connected: false, written: false })).toMatchObject({ scope: 'transport' });
});

test('an error that no one foresaw holds the transport and is maybe stored once written', () => {
  expect(classify(new TypeError('odd'), written)).toMatchObject({
    kind: 'hold',
    scope: 'transport',
    stored: true,
  });
  expect(classify('text', unwritten)).toEqual({
    kind: 'hold',
    reason: 'text',
    scope: 'transport',
    stored: false,
  });
});

test('a timeout is known as one under its wrapping', () => {
  const timeout = new kafkajs.KafkaJSRequestTimeoutError('late', {
    broker: 'b:1',
    clientId: 'c',
    correlationId: 1,
    createdAt: 0,
    pendingDuration: 0,
    sentAt: 0,
  });
  expect(isTimeout(thrown(timeout))).toBe(true);
  expect(isTimeout(thrown(new kafkajs.KafkaJSConnectionError('gone')))).toBe(false);
});
