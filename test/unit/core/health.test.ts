import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { OutboxError } from '../../../src/core/errors.ts';
import { HealthRecord } from '../../../src/core/health.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: 0 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** What is failing, as names. */
const failing = (health: HealthRecord) => health.read().failing.map(({ what }) => what);

test('a failure has its first time and its last error until it is resolved', () => {
  const health = new HealthRecord();
  health.failed('Temporal', 'first');
  vi.advanceTimersByTime(60_000);
  health.failed('Temporal', 'second');

  expect(health.read().failing).toEqual([{ what: 'Temporal', since: new Date(0), error: 'second' }]);
  health.mended('Temporal');
  expect(health.read().failing).toEqual([]);
});

test('a failure has no value of a client or a handler but in its text, and as JSON not that either', {
  tags: ['probes-restart-nothing'],
}, () => {
  const health = new HealthRecord();
  const stored = Object.assign(new Error('duplicate key', { cause: new Error('of 4242') }), {
    detail: 'Key (card)=(4242) already exists.',
  });
  health.failed('partition orders/0', stored);
  health.failed('Temporal', new OutboxError('OUTBOX_SERVER_UNAVAILABLE', 'It is away at 4242.'));
  health.others = () => [{ what: 'address orders', since: new Date(0), error: new Error('4242') }];

  const { failing: told } = health.read();
  expect(told.map(({ error }) => (typeof error === 'string' ? error : error.code))).toEqual([
    'duplicate key: of 4242',
    'OUTBOX_SERVER_UNAVAILABLE',
    '4242',
  ]);
  expect(JSON.parse(JSON.stringify(health.read()))).toMatchObject({
    failing: [
      { what: 'partition orders/0' },
      { what: 'Temporal', code: 'OUTBOX_SERVER_UNAVAILABLE' },
      { what: 'address orders' },
    ],
  });
  expect(JSON.stringify(health.read())).not.toContain('4242');
});

test('a failure that nothing resolves is forgotten ten seconds after its next try was due, and then starts afresh', () => {
  const health = new HealthRecord();
  health.failed('receipts', 'no', { retryInMs: 5_000 });
  vi.advanceTimersByTime(14_999);
  expect(failing(health)).toEqual(['receipts']);
  vi.advanceTimersByTime(1);
  expect(failing(health)).toEqual([]);

  health.failed('receipts', 'no', { retryInMs: 5_000 });
  expect(health.read().failing[0]?.since).toEqual(new Date(15_000));
});

test('a server that has not answered for three seconds is failing, until it answers', async () => {
  const health = new HealthRecord();
  let answer: () => void = () => undefined;
  const asked = health.during('PostgreSQL', new Promise<void>((resolve) => (answer = resolve)));
  vi.advanceTimersByTime(3_000);
  expect(failing(health)).toEqual([]);
  expect(health.isAway(1_000)).toBe(true);
  vi.advanceTimersByTime(1_000);

  expect(health.read().failing).toEqual([
    {
      what: 'PostgreSQL',
      since: new Date(0),
      error: expect.objectContaining({
        code: 'OUTBOX_SERVER_UNAVAILABLE',
        message: 'PostgreSQL has not answered for 4 s.',
      }),
    },
  ]);
  answer();
  await asked;
  expect(failing(health)).toEqual([]);
  expect(health.isAway(0)).toBe(false);
});

test('a server is silent since the first question until it answers, also if callers give up and ask again', async () => {
  const health = new HealthRecord();
  let fail: (error: unknown) => void = () => undefined;
  const ask = () =>
    health.during('kafka', new Promise<void>((_, reject) => (fail = reject))).catch(() => undefined);
  for (let question = 0; question < 2; question += 1) {
    const asked = ask();
    vi.advanceTimersByTime(5_000);
    fail(new Error('no answer'));
    await asked;
    expect(health.read().failing).toMatchObject([{ what: 'kafka', since: new Date(0) }]);
  }
  await health.during('kafka', Promise.resolve());
  expect(failing(health)).toEqual([]);
});

test('a server that is not asked again is forgotten ten seconds after the last question, and a refusal is an answer', async () => {
  const health = new HealthRecord();
  await expect(health.during('kafka', Promise.reject(new Error('not now')))).rejects.toThrow('not now');
  vi.advanceTimersByTime(5_000);
  expect(failing(health)).toEqual([]);

  let fail: (error: unknown) => void = () => undefined;
  const asked = health
    .during('kafka', new Promise<void>((_, reject) => (fail = reject)))
    .catch(() => undefined);
  vi.advanceTimersByTime(4_000);
  fail(new Error('no answer'));
  await asked;
  vi.advanceTimersByTime(9_999);
  expect(failing(health)).toEqual(['kafka']);
  vi.advanceTimersByTime(1);
  expect(failing(health)).toEqual([]);
});

test('only failures marked as those of a server make it unreachable', () => {
  const health = new HealthRecord();
  health.failed('lane orders/0', 'it has no leader');
  expect(health.isAway(1_000)).toBe(false);
  health.failed('kafka', 'refused', { away: true });
  expect(health.isAway(1_000)).toBe(true);
});

test('only a running process has joined, and progress has the time of the last message', () => {
  const health = new HealthRecord();
  health.joined = () => true;
  expect(health.read()).toEqual({ state: 'starting', joined: false, lastProgressAt: null, failing: [] });
  health.state = 'running';
  vi.advanceTimersByTime(1_000);
  health.progressed();
  vi.advanceTimersByTime(1_000);
  expect(health.read()).toMatchObject({ joined: true, lastProgressAt: new Date(1_000) });
  health.state = 'stopping';
  expect(health.read().joined).toBe(false);
});
