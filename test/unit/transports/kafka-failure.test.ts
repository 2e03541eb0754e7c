import { createRequire } from 'node:module';
import kafkajs from 'kafkajs';
import { expect, test } from 'vitest';
import {
  brokerAnswers,
  classify,
  isTimeout,
  type KafkaFailure,
} from '../../../src/transports/kafka/failure.ts';

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

const refused = { kind: 'hold', scope: 'topic', stored: false } as const;
const maybeInTopic = { kind: 'hold', scope: 'topic', stored: true } as const;
const maybeStored = { kind: 'hold', scope: 'transport', stored: true } as const;

/** Kafka's own table is what is tested here, not what the code says of it. */
const listed: readonly (readonly [code: number, type: string, failure: Partial<KafkaFailure>])[] = [
  [2, 'CORRUPT_MESSAGE', { kind: 'split', single: 'rejected' }],
  [3, 'UNKNOWN_TOPIC_OR_PARTITION', maybeInTopic],
  [5, 'LEADER_NOT_AVAILABLE', maybeInTopic],
  [6, 'NOT_LEADER_FOR_PARTITION', maybeInTopic],
  [7, 'REQUEST_TIMED_OUT', maybeInTopic],
  [8, 'BROKER_NOT_AVAILABLE', maybeStored],
  [9, 'REPLICA_NOT_AVAILABLE', maybeInTopic],
  [10, 'MESSAGE_TOO_LARGE', { kind: 'split', single: 'permanent' }],
  [13, 'NETWORK_EXCEPTION', maybeStored],
  [17, 'INVALID_TOPIC_EXCEPTION', refused],
  [18, 'RECORD_LIST_TOO_LARGE', { kind: 'split', single: 'permanent' }],
  [19, 'NOT_ENOUGH_REPLICAS', refused],
  [20, 'NOT_ENOUGH_REPLICAS_AFTER_APPEND', maybeInTopic],
  [29, 'TOPIC_AUTHORIZATION_FAILED', refused],
  [31, 'CLUSTER_AUTHORIZATION_FAILED', maybeStored],
  [32, 'INVALID_TIMESTAMP', refused],
  [33, 'UNSUPPORTED_SASL_MECHANISM', maybeStored],
  [34, 'ILLEGAL_SASL_STATE', maybeStored],
  [35, 'UNSUPPORTED_VERSION', maybeStored],
  [56, 'KAFKA_STORAGE_ERROR', maybeInTopic],
  [58, 'SASL_AUTHENTICATION_FAILED', maybeStored],
  [72, 'LISTENER_NOT_FOUND', maybeInTopic],
  [74, 'FENCED_LEADER_EPOCH', maybeInTopic],
  [75, 'UNKNOWN_LEADER_EPOCH', maybeInTopic],
  [87, 'INVALID_RECORD', { kind: 'split', single: 'permanent' }],
];
const unlisted = errorCodes.filter(({ code }) => !listed.some(([known]) => known === code));

test.for(listed)('after a request was written, the answer %i %s means %o', ([code, type, failure]) => {
  expect(classify(thrown(createErrorFromCode(code)), written)).toMatchObject({
    ...failure,
    reason: expect.stringContaining(`${type}: `),
  });
});

test.for(listed)('before a request was written, the answer %i %s says that nothing was stored', ([code]) => {
  expect(classify(thrown(createErrorFromCode(code)), unwritten)).toMatchObject({
    kind: 'hold',
    stored: false,
  });
});

test.for(unlisted.map(({ code, type }) => [code, type] as const))(
  'the answer %i %s is not listed: it may blame a message, which may be stored nevertheless',
  ([code]) => {
    expect(classify(thrown(createErrorFromCode(code)), written)).toMatchObject({
      kind: 'split',
      single: 'ambiguous',
    });
  },
);

test('UNKNOWN is among the answers that are not listed', () => {
  expect(unlisted).toContainEqual(expect.objectContaining({ code: -1, type: 'UNKNOWN' }));
});

test('a refused time is told with the clock of this relay, and with what to set', () => {
  expect(classify(createErrorFromCode(32), written).reason).toMatch(
    new RegExp(`${new Date().toISOString().slice(0, 13)}.*set it right.*message.timestamp.after.max.ms`),
  );
});

test('every answer in the table is one that kafkajs can name', () => {
  const named = errorCodes.filter(({ type }) => type in brokerAnswers);
  expect(named.map(({ code, type }) => [code, type])).toEqual(listed.map(([code, type]) => [code, type]));
});

test('an answer that kafkajs does not know blames a message, which may be stored nevertheless', () => {
  expect(classify(createErrorFromCode(12_345), written)).toMatchObject({
    kind: 'split',
    single: 'ambiguous',
  });
});

test('no answer blames a message before anything was written', () => {
  expect(classify(createErrorFromCode(12_345), unwritten)).toMatchObject({ kind: 'hold', stored: false });
  expect(classify(createErrorFromCode(58), unwritten)).toMatchObject({ kind: 'hold', stored: false });
});

test('a lost connection after writing is maybe stored, and before it is not', () => {
  const lost = thrown(new kafkajs.KafkaJSConnectionError('gone', { broker: 'b:1' }));
  const hold = { kind: 'hold', reason: 'b:1: gone', scope: 'topic' };
  expect(classify(lost, written)).toEqual({ ...hold, stored: true });
  expect(classify(lost, unwritten)).toEqual({ ...hold, stored: false });
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
