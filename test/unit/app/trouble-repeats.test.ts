import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { consumerTroubleLines, relayTroubleLines } from '../../../src/app/trouble-lines.ts';
import { OutboxError } from '../../../src/core/errors.ts';
import { listening } from './listening.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

const place = { topic: 'orders', address: 'orders', partition: 0 };

test('the same problem is logged once in five seconds, wherever and for whichever message it occurs', () => {
  const { told, logger } = listening();
  const relay = relayTroubleLines(logger);
  const consumer = consumerTroubleLines('billing', logger);
  for (let n = 0; n < 100; n += 1) {
    relay({ type: 'error', during: 'look', error: new Error(`port ${n}`) });
    const id = `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
    consumer?.({ type: 'parked', id, key: null, offset: String(n), error: 'closed', ...place });
  }
  relay({ type: 'error', during: 'sweep', error: new Error('port 1') });
  const counted = { acknowledged: 1, exceptions: 0, transport: 'kafka', publishMs: 1 };
  relay({ type: 'batch-settled', topic: 'orders', lane: 0, ...counted, delaysMs: [], latenessMs: [] });
  vi.advanceTimersByTime(5_001);
  relay({ type: 'error', during: 'look', error: new Error('port 1') });

  expect(told.map(([, , message]) => message)).toEqual([
    'look failed: Error: port 0',
    'message 00000000-0000-4000-8000-000000000000 of orders is parked: closed',
    'sweep failed: Error: port 1',
    'look failed: Error: port 1',
  ]);
  expect(told.at(-1)?.[1]).toMatchObject({ more: 99 });
});

test('an outage of a broker is a line where it begins, at growing distance while it lasts, and where it ends, each time', {
  tags: ['log-has-one-schema'],
}, () => {
  const { told, logger } = listening();
  const report = consumerTroubleLines('billing', logger);
  const atSeconds: number[] = [];
  const outage = (seconds: number): void => {
    for (let second = 0; second <= seconds; second += 1) {
      const before = told.length;
      // What fails of a broker that is away differs from try to try.
      const error = new Error(second % 2 === 0 ? 'refused' : 'no answer');
      report?.({ type: 'disconnected', server: 'kafka', error, retryInMs: 1_000 });
      if (told.length > before) atSeconds.push(second);
      vi.advanceTimersByTime(1_000);
    }
    report?.({ type: 'connection-resumed', server: 'kafka', since: new Date() });
  };
  outage(200);
  expect(atSeconds).toEqual([0, 5, 15, 35, 75, 155]);
  expect(told[2]?.[1]).toMatchObject({ server: 'kafka', more: 9 });
  outage(2);
  expect(atSeconds.slice(6)).toEqual([0]);
  expect(told.at(-2)?.[1]).not.toHaveProperty('more');
  outage(2_000);
  const far = atSeconds.slice(7).map((second, n, all) => second - (all[n - 1] ?? 0));
  expect(far.slice(1)).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300, 300, 300]);
  expect(told.filter(([, , message]) => message.startsWith('receives from kafka again'))).toHaveLength(3);

  report?.({ type: 'disconnected', server: 'redis', error: new Error('refused'), retryInMs: 1_000 });
  const missing = new OutboxError('OUTBOX_ADDRESS_MISSING', 'It has no topic orders.');
  report?.({ type: 'disconnected', server: 'redis', error: missing, retryInMs: 1_000 });
  expect(told.slice(-2).map(([, , message]) => message)).toEqual([
    'receives nothing from redis, and connects again: Error: refused',
    'receives nothing from redis, and connects again: OutboxError: It has no topic orders.',
  ]);
});

test('what comes and goes within five seconds is no line for each time, and its last state is logged', {
  tags: ['log-has-one-schema'],
}, () => {
  const { told, logger } = listening();
  const report = consumerTroubleLines('billing', logger);
  const error = new Error('the channel is closed');
  const goes = () => report?.({ type: 'disconnected', server: 'rabbitmq', error, retryInMs: 200 });
  const comes = () => report?.({ type: 'connection-resumed', server: 'rabbitmq', since: new Date() });
  const events = () => told.map(([, facts]) => ('event' in facts ? facts.event : undefined));
  for (let n = 0; n < 20; n += 1) {
    goes();
    comes();
    vi.advanceTimersByTime(200);
  }
  expect(events()).toEqual(['disconnected', 'connection-resumed']);
  goes();
  vi.advanceTimersByTime(1_001);
  goes();
  comes();
  expect(events().slice(2)).toEqual(['disconnected', 'connection-resumed']);

  // Reported once: what is not logged now never is.
  told.splice(0);
  report?.({ type: 'workflows-failing', error });
  report?.({ type: 'workflows-resumed', since: new Date() });
  report?.({ type: 'workflows-failing', error });
  expect(events()).toEqual(['workflows-failing', 'workflows-resumed', 'workflows-failing']);
});

test('a hold of each lane is a line of its own, however soon after each other', {
  tags: ['log-has-one-schema'],
}, () => {
  const { told, logger } = listening();
  const report = relayTroubleLines(logger);
  const hold = { scope: 'transport', reason: 'it is away' } as const;
  for (const lane of [0, 1, 1]) report({ type: 'hold-began', continued: false, topic: 'orders', lane, hold });

  expect(told.map(([, , message]) => message)).toEqual([
    'lane orders/0 waits: it is away',
    'lane orders/1 waits: it is away',
  ]);
});

test('what a line is about is never a repeat of another thing whose name differs in digits, however many there are', {
  tags: ['log-has-one-schema'],
}, () => {
  const { told, logger } = listening();
  const report = relayTroubleLines(logger);
  const many = Array.from({ length: 25 }, (_, n) => `orders-v${n}`);
  const error = new Error('port 1');
  for (let reading = 0; reading < 2; reading += 1)
    for (const topic of many) {
      report({ type: 'alert-began', rule: 'failed', subject: `topic ${topic}`, text: `${reading} failed` });
      report({ type: 'topic-waiting', topic, waitingFor: 'transactions', who: [`pid ${reading}`] });
      report({ type: 'waiting-for-server', server: 'PostgreSQL', address: `${topic}:5432`, error });
    }

  const lines = new Map<string, number>();
  for (const [, facts] of told) {
    const event = 'event' in facts ? String(facts.event) : '';
    lines.set(event, (lines.get(event) ?? 0) + 1);
  }
  expect(Object.fromEntries(lines)).toEqual({
    'alert-began': 25,
    'topic-waiting': 25,
    'waiting-for-server': 25,
  });
});
