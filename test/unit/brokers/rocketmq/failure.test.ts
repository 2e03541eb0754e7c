import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { NoAnswer, RefusedRequest } from '../../../../src/brokers/rocketmq/client/failure.ts';
import { outcomeOf, statusMeanings } from '../../../../src/brokers/rocketmq/transport/send-failure.ts';

const { Code } = createRequire(import.meta.url)(
  'rocketmq-client-nodejs/proto/apache/rocketmq/v2/definition_pb.js',
) as { Code: Readonly<Record<string, number>> };

const permanent = { kind: 'permanent' } as const;
const ambiguous = { kind: 'ambiguous' } as const;
const refusedTopic = { kind: 'hold', hold: { scope: 'topic' }, onWire: false } as const;
const maybeInTopic = { kind: 'hold', hold: { scope: 'topic' }, onWire: true } as const;
const refused = { kind: 'hold', hold: { scope: 'transport' }, onWire: false } as const;

/** RocketMQ's own words are what is tested here, not what the code says of them. */
const listed: readonly (readonly [status: string, code: number, outcome: object])[] = [
  ['BAD_REQUEST', 40_000, permanent],
  ['ILLEGAL_TOPIC', 40_002, refusedTopic],
  ['ILLEGAL_MESSAGE_TAG', 40_004, permanent],
  ['ILLEGAL_MESSAGE_KEY', 40_005, permanent],
  ['ILLEGAL_MESSAGE_GROUP', 40_006, permanent],
  ['ILLEGAL_MESSAGE_PROPERTY_KEY', 40_007, permanent],
  ['ILLEGAL_MESSAGE_ID', 40_009, permanent],
  ['MESSAGE_PROPERTY_CONFLICT_WITH_TYPE', 40_014, refusedTopic],
  ['MESSAGE_CORRUPTED', 40_016, { kind: 'rejected' }],
  ['CLIENT_ID_REQUIRED', 40_017, refused],
  ['UNAUTHORIZED', 40_100, refused],
  ['PAYMENT_REQUIRED', 40_200, refused],
  ['FORBIDDEN', 40_300, refusedTopic],
  ['NOT_FOUND', 40_400, refusedTopic],
  ['TOPIC_NOT_FOUND', 40_402, refusedTopic],
  ['REQUEST_TIMEOUT', 40_800, maybeInTopic],
  ['PAYLOAD_TOO_LARGE', 41_300, permanent],
  ['MESSAGE_BODY_TOO_LARGE', 41_301, permanent],
  ['MESSAGE_BODY_EMPTY', 41_302, permanent],
  ['TOO_MANY_REQUESTS', 42_900, refusedTopic],
  ['REQUEST_HEADER_FIELDS_TOO_LARGE', 43_100, permanent],
  ['MESSAGE_PROPERTIES_TOO_LARGE', 43_101, permanent],
  ['INTERNAL_ERROR', 50_000, ambiguous],
  ['INTERNAL_SERVER_ERROR', 50_001, ambiguous],
  ['HA_NOT_AVAILABLE', 50_002, maybeInTopic],
  ['NOT_IMPLEMENTED', 50_100, refused],
  ['PROXY_TIMEOUT', 50_400, maybeInTopic],
  ['MASTER_PERSISTENCE_TIMEOUT', 50_401, maybeInTopic],
  ['SLAVE_PERSISTENCE_TIMEOUT', 50_402, maybeInTopic],
  ['UNSUPPORTED', 50_500, refused],
  ['VERSION_UNSUPPORTED', 50_501, refused],
];

test.each(listed)(
  'the status %s (%i) has the outcome that fits its meaning',
  { tags: ['rocketmq-unacknowledged-is-unpublished'] },
  (status, code, outcome) => {
    expect(Code[status]).toBe(code);
    expect(outcomeOf(new RefusedRequest(status, 'said the proxy'), true)).toMatchObject(outcome);
  },
);

test('every status of the table is tested here', () => {
  expect(Object.keys(statusMeanings)).toEqual(listed.map(([status]) => status).toSorted());
});

/** As proxies of 5.4.0 said it while their broker was killed, frozen and restarted. */
test.each([
  ['connect to 127.0.0.1:22911 failed. RemotingConnectException. org.apache.rocketmq', refusedTopic],
  ['send request to </127.0.0.1:22911> failed. RemotingSendRequestException. org.apache', maybeInTopic],
  ['wait response timeout. RemotingTimeoutException. org.apache.rocketmq.remoting', maybeInTopic],
  ['service not available now. It may be caused by one of the following reasons', refusedTopic],
  ['Cannot invoke "apache.rocketmq.v2.Settings.getSubscription()". NullPointerException.', ambiguous],
])('an internal error with the text "%s" shows whether the broker is unreachable', (words, outcome) => {
  expect(outcomeOf(new RefusedRequest('INTERNAL_SERVER_ERROR', words), true)).toMatchObject(outcome);
});

test('a missing privilege, which has the status of a wrong secret, concerns its topic only', {
  tags: ['rocketmq-unacknowledged-is-unpublished'],
}, () => {
  const said = 'User:bob has no permission to access Topic:orders from 127.0.0.1, no matched policies.';
  expect(outcomeOf(new RefusedRequest('UNAUTHORIZED', said), true)).toMatchObject(refusedTopic);
});

test('an unknown status and an unknown error are ambiguous', () => {
  expect(outcomeOf(new RefusedRequest('status 49999', 'new'), true)).toEqual({
    kind: 'ambiguous',
    error: 'status 49999: new',
  });
  expect(outcomeOf(new TypeError('boom'), true)).toEqual({ kind: 'ambiguous', error: 'boom' });
});

function noAnswer(code: number, details: string): NoAnswer {
  return new NoAnswer('proxy:8081', Object.assign(new Error(details), { code, details }) as never);
}

test('without an answer the transport is on hold, and a written message may be stored', () => {
  const gone = noAnswer(14, 'Connection dropped');
  const hold = { scope: 'transport', reason: 'proxy:8081: Connection dropped' };
  expect(outcomeOf(gone, true)).toEqual({ kind: 'hold', hold, onWire: true });
  expect(outcomeOf(gone, false)).toEqual({ kind: 'hold', hold, onWire: false });
});

test.each([
  [4, 'Deadline exceeded after 1.0s,LB pick: 0.2s', 'proxy:8081 did not answer in time'],
  [
    14,
    'No connection established. Last error: connect ECONNREFUSED proxy:8081. Resolution note: ',
    'connect ECONNREFUSED proxy:8081',
  ],
  [
    14,
    'No connection established. Last error: Error: self-signed certificate. Resolution note: ',
    'TLS with proxy:8081 failed: self-signed certificate',
  ],
  [
    14,
    'No connection established. Last error: Failed to connect (2026-01-02T03:04:05.678Z). Resolution note: ',
    'proxy:8081 ended the connection, as one does that wants TLS, or none (`tls`)',
  ],
])('gRPC error %i, "%s", is reported as %s', (code, details, reason) => {
  expect(noAnswer(code, details).message).toBe(reason);
});

test('the error of a proxy is reported without the link to its documentation', () => {
  const refusal = new RefusedRequest('TOPIC_NOT_FOUND', 'No route: orders\nFor more information, visit');
  expect(refusal.message).toBe('TOPIC_NOT_FOUND: No route: orders');
});
