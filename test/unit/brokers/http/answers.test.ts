import { expect, test } from 'vitest';
import { AddressRefused } from '../../../../src/brokers/http/transport/address-guard.ts';
import { classifyAnswer, classifyFailure } from '../../../../src/brokers/http/transport/answer-class.ts';

const server = 'hooks.test';
const rules = { server, hidden: [], permanentStatuses: new Set([409]) };
const answer = (status: number, more = {}) => ({
  status,
  retryAfter: undefined,
  location: undefined,
  excerpt: '',
  ...more,
});

test.each([
  [200, 'acknowledged'],
  [202, 'acknowledged'],
  [204, 'acknowledged'],
  [301, 'rejected'],
  [304, 'rejected'],
  [308, 'rejected'],
  [400, 'rejected'],
  [401, 'rejected'],
  [404, 'rejected'],
  [408, 'rejected'],
  [409, 'permanent'],
  [410, 'permanent'],
  [413, 'rejected'],
  [422, 'rejected'],
  [429, 'rejected'],
  [500, 'ambiguous'],
  [502, 'ambiguous'],
  [503, 'ambiguous'],
  [504, 'ambiguous'],
  [600, 'ambiguous'],
])('status %i means %s', (status, kind) => {
  expect(classifyAnswer(answer(status), rules).outcome.kind).toBe(kind);
});

test('409 and 422 are permanent only if the options list them', () => {
  const none = { ...rules, permanentStatuses: new Set<number>() };
  const both = { ...rules, permanentStatuses: new Set([409, 422]) };
  for (const status of [409, 422]) {
    expect(classifyAnswer(answer(status), none).outcome.kind).toBe('rejected');
    expect(classifyAnswer(answer(status), both).outcome.kind).toBe('permanent');
  }
});

test.each([
  [429, '7', 7_000, false],
  [503, '7', 7_000, true],
  [503, '0', 0, true],
  [429, '999999', 3_600_000, false],
])('%i with Retry-After %s holds the address for %i ms', (status, retryAfter, pauseMs, onWire) => {
  expect(classifyAnswer(answer(status, { retryAfter }), rules)).toMatchObject({
    outcome: { kind: 'hold', onWire, hold: { scope: 'topic', reason: expect.stringContaining(`${status}`) } },
    pauseMs,
  });
});

test('a hold repeats nothing of the body, which may quote a payload: readers without the right to it see holds', {
  tags: ['api-shows-nothing-without-right'],
}, () => {
  for (const status of [429, 503]) {
    const said = answer(status, { retryAfter: '7', excerpt: 'cannot charge CARD-4711' });
    expect(classifyAnswer(said, rules)).toMatchObject({
      outcome: { hold: { reason: `hooks.test answered ${status} (nothing is sent for 7 s, as it asks)` } },
    });
  }
});

test('Retry-After may be a date, even a past one; any other text is ignored', () => {
  const inAMinute = new Date(Date.now() + 60_000).toUTCString();
  const { pauseMs = 0 } = classifyAnswer(answer(429, { retryAfter: inAMinute }), rules);
  expect(pauseMs).toBeGreaterThan(50_000);
  expect(pauseMs).toBeLessThanOrEqual(60_000);
  const passed = answer(429, { retryAfter: 'Sun, 06 Nov 1994 08:49:37 GMT' });
  expect(classifyAnswer(passed, rules)).toMatchObject({ outcome: { kind: 'hold' }, pauseMs: 0 });
  for (const retryAfter of [
    'soon',
    '',
    '-1.5x',
    '-1',
    '1e3',
    'never-1',
    'tomorrow 5',
    'Sun, 31 Feb 2094 08:49:37 GMT',
  ])
    expect(classifyAnswer(answer(429, { retryAfter }), rules).outcome.kind).toBe('rejected');
});

test('a reason has the host, the status and a short line of the body, without secret header values', () => {
  const excerpt = `You sent\r\n\tBearer abcdef \u001b[31m ${'x'.repeat(900)}`;
  const { outcome } = classifyAnswer(answer(400, { excerpt }), { ...rules, hidden: ['Bearer abcdef'] });
  expect(outcome).toMatchObject({
    error: expect.stringMatching(/^hooks\.test answered 400: You sent … \[31m x+…$/),
  });
  expect(JSON.stringify(outcome).length).toBeLessThan(300);
});

test('the reason of a redirect names only its host', () => {
  const location = 'https://user:pw@other.test/token?secret=1';
  expect(classifyAnswer(answer(302, { location, excerpt: 'Found' }), rules).outcome).toEqual({
    kind: 'rejected',
    error: 'hooks.test answered 302: redirects to other.test are not followed',
  });
});

const coded = (code: string, message: string): Error => Object.assign(new Error(message), { code });

test.each([
  [coded('ECONNREFUSED', 'connect ECONNREFUSED 10.1.1.1:80'), 'hooks.test: connect ECONNREFUSED 10.1.1.1:80'],
  [coded('ENOTFOUND', 'getaddrinfo ENOTFOUND hooks.test'), 'getaddrinfo ENOTFOUND hooks.test'],
  [coded('UND_ERR_CONNECT_TIMEOUT', 'Connect Timeout Error'), 'hooks.test: Connect Timeout Error'],
  [
    coded('CERT_HAS_EXPIRED', 'certificate has expired'),
    'TLS with hooks.test failed: certificate has expired',
  ],
  [
    coded('ERR_SSL_WRONG_VERSION_NUMBER', '80:error:0A00010B:SSL routines:f:wrong version number:a.c:350:'),
    'TLS with hooks.test failed: its port does not speak TLS',
  ],
  [
    coded('ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', '80:error:0A000418:SSL routines:f:tlsv1 alert unknown ca:a.c:1:'),
    'TLS with hooks.test failed: tlsv1 alert unknown ca',
  ],
  [
    new AggregateError(
      [new Error('connect ECONNREFUSED ::1:80'), new Error('connect ECONNREFUSED 127.0.0.1:80')],
      'every address failed',
    ),
    'hooks.test: connect ECONNREFUSED ::1:80; connect ECONNREFUSED 127.0.0.1:80',
  ],
])(
  'before the request is sent, "%s" holds the address; afterwards the message is ambiguous',
  (error, reason) => {
    expect(classifyFailure(error, false, server)).toEqual({
      kind: 'hold',
      hold: { scope: 'topic', reason },
      onWire: false,
    });
    expect(classifyFailure(error, true, server)).toEqual({ kind: 'ambiguous', error: reason });
  },
);

test('a refused address is put on hold without blaming a message', () => {
  const { message: reason } = new AddressRefused(server, '10.0.0.1');
  expect(classifyFailure(new AddressRefused(server, '10.0.0.1'), false, server)).toEqual({
    kind: 'hold',
    hold: { scope: 'topic', reason },
    onWire: false,
  });
});
