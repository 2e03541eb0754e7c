import { expect, test } from 'vitest';
import {
  maxBytesIn,
  rabbitmqFailure,
  refusesRoutingKey,
  replies,
} from '../../../../src/brokers/rabbitmq/transport/failure.ts';

const closedWith = (code: number, message = 'Channel closed by server: …'): Error =>
  Object.assign(new Error(message), { code });

const refusedMessages = [311, 406];
const refusedExchanges = [403, 404, 405];
const lost = [320, 402, 501, 502, 503, 504, 505, 506, 530, 540, 541];

test('every reply code of the table is tested here', () => {
  expect(Object.keys(replies).map(Number)).toEqual(
    [...refusedMessages, ...refusedExchanges, ...lost].toSorted((a, b) => a - b),
  );
});

test.each(refusedMessages)('%i fails a message that was in flight alone', (code) => {
  expect(rabbitmqFailure(closedWith(code))).toMatchObject({
    scope: 'topic',
    alone: 'permanent',
    stored: false,
  });
});

test.each(refusedExchanges)(
  '%i holds the exchange, and the message that caused it was not stored',
  (code) => {
    expect(rabbitmqFailure(closedWith(code))).toMatchObject({ scope: 'topic', alone: 'hold', stored: false });
  },
);

test.each([
  "ACCESS_REFUSED - access to topic 'a.b' in exchange 'orders' in vhost '/' refused for user 'u'",
  "ACCESS_REFUSED - write access to topic 'a.b' in exchange 'orders' in vhost '/' refused for user 'u'",
])('403 for a routing key refuses the message that has it: %s', (message) => {
  const { reason, ...failure } = rabbitmqFailure(closedWith(403, message));

  expect(failure).toEqual({ scope: 'topic', alone: 'rejected', stored: false });
  expect([refusesRoutingKey(reason, 'a.b'), refusesRoutingKey(reason, 'a')]).toEqual([true, false]);
});

test.each(lost)('%i holds the transport, and messages in flight may be stored', (code) => {
  expect(rabbitmqFailure(closedWith(code))).toMatchObject({
    scope: 'transport',
    alone: 'hold',
    stored: true,
  });
});

test.each([
  ['an unknown code', closedWith(599)],
  ['a lost connection', Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })],
  ['silence', new Error('The server gave no answer within 5000 ms.')],
])('%s counts as a lost connection', (_what, error) => {
  expect(rabbitmqFailure(error)).toEqual({
    scope: 'transport',
    alone: 'hold',
    stored: true,
    reason: error.message,
  });
});

test('if several servers fail, the error has the reason of each', () => {
  const both = new AggregateError(
    [new Error('connect ECONNREFUSED ::1:5672'), new Error('connect ECONNREFUSED 127.0.0.1:5672')],
    'all failed',
  );

  expect(rabbitmqFailure(both).reason).toBe(
    'connect ECONNREFUSED ::1:5672; connect ECONNREFUSED 127.0.0.1:5672',
  );
});

test.each([
  ['PRECONDITION_FAILED - message size 200 larger than configured max size 100', 100],
  ['PRECONDITION_FAILED - message size 200 is larger than configured max size 100', 100],
  ['PRECONDITION_FAILED - message size 200 is larger than max size 16777216', 16_777_216],
  ['PRECONDITION_FAILED - invalid expiration', undefined],
])('the size limit in %j is read as %o', (reason, limit) => {
  expect(maxBytesIn(reason)).toBe(limit);
});
