import { protocolErrors } from '@platformatic/kafka';
import { expect, test } from 'vitest';
import {
  answerFailure,
  brokerAnswers,
  type KafkaFailure,
  lossFailure,
} from '../../../../src/brokers/kafka/transport/failure.ts';
import { Unanswered } from '../../../../src/brokers/kafka/transport/unanswered.ts';

const refused = { kind: 'hold', scope: 'topic', stored: false } as const;
const maybeInTopic = { kind: 'hold', scope: 'topic', stored: true } as const;
const maybeStored = { kind: 'hold', scope: 'transport', stored: true } as const;

/** Kafka's own table is what is tested here, not what the code says of it. */
const listed: readonly (readonly [code: number, type: string, failure: Partial<KafkaFailure>])[] = [
  [2, 'CORRUPT_MESSAGE', { kind: 'split', single: 'rejected' }],
  [3, 'UNKNOWN_TOPIC_OR_PARTITION', maybeInTopic],
  [5, 'LEADER_NOT_AVAILABLE', maybeInTopic],
  [6, 'NOT_LEADER_OR_FOLLOWER', maybeInTopic],
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
const known = Object.values(protocolErrors).map(({ id, code }) => [code, id] as const);
const unlisted = known.filter(([code]) => code !== 0 && !listed.some(([one]) => one === code));

test.for(listed)(
  'the answer %i %s means %o',
  { tags: ['inconclusive-may-be-stored'] },
  ([code, type, failure]) => {
    expect(answerFailure({ code, message: null })).toMatchObject({
      ...failure,
      reason: expect.stringMatching(new RegExp(`^${type}: .`)),
    });
  },
);

test.for(unlisted)(
  'the unlisted answer %i %s may concern a message, which may be stored nevertheless',
  ([code]) => {
    expect(answerFailure({ code, message: null })).toMatchObject({ kind: 'split', single: 'ambiguous' });
  },
);

test('UNKNOWN_SERVER_ERROR is one of the unlisted answers', () => {
  expect(unlisted).toContainEqual([-1, 'UNKNOWN_SERVER_ERROR']);
});

test('the reason of a refused timestamp has the clock of this relay and the setting to change', () => {
  expect(answerFailure({ code: 32, message: null }).reason).toMatch(
    new RegExp(`${new Date().toISOString().slice(0, 13)}.*set it right.*message.timestamp.after.max.ms`),
  );
});

test('every answer in the table has the name that Kafka gives its code', () => {
  const named = Object.entries(brokerAnswers).map(([code, [name]]) => [Number(code), name]);
  expect(known).toEqual(expect.arrayContaining(named));
  expect(named).toEqual(listed.map(([code, type]) => [code, type]));
});

test('the reason includes the error message of the broker', () => {
  expect(answerFailure({ code: 87, message: 'One or more records have been rejected' }).reason).toBe(
    'INVALID_RECORD: One or more records have been rejected',
  );
});

test('an error code unknown to this version concerns a message, which may be stored nevertheless', () => {
  expect(answerFailure({ code: 12_345, message: null })).toEqual({
    kind: 'split',
    single: 'ambiguous',
    reason: 'error code 12345: unknown to this version.',
  });
});

test.for([true, false])('without an answer a batch may be stored only if it was written (%s)', (written) => {
  const loss = new Unanswered('b:1: gone', { written });
  const hold = { kind: 'hold', reason: 'b:1: gone', stored: written };
  expect(lossFailure(loss, true)).toEqual({ ...hold, scope: 'topic' });
  expect(lossFailure(loss, false)).toEqual({ ...hold, scope: 'transport' });
});
