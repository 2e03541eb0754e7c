import { expect, test } from 'vitest';
import { relayNews } from '../../../src/app/relay/relay-news.ts';
import { relayTroubleLines } from '../../../src/app/trouble-lines.ts';
import type { RelayEvent } from '../../../src/relay/report.ts';

const lane = { topic: 'orders', lane: 3 };
const hold = { scope: 'topic', reason: 'it is away' } as const;
const alert = { rule: 'oldestDue', subject: 'topic orders', text: 'The oldest due message waits for 2 min.' };

/** What a relay logs of these events, in their order. */
function logged(...events: readonly RelayEvent[]): readonly string[] {
  const lines: string[] = [];
  const tell = (facts: object, message: string) =>
    lines.push(`${String(Reflect.get(facts, 'event'))}: ${message}`);
  const reports = [relayNews(tell), relayTroubleLines({ warn: tell, error: tell })];
  for (const event of events) for (const report of reports) report(event);
  return lines;
}

test('each change of state of an alert, a hold, a lane and Temporal is one line, whoever owns the lane meanwhile', {
  tags: ['log-has-one-schema'],
}, () => {
  expect(
    logged(
      { type: 'alert-began', ...alert },
      { type: 'alert-ended', ...alert },
      { type: 'hold-began', continued: false, hold, ...lane },
      { type: 'hold-ended', lastedMs: 4_000, over: false, ...lane },
      { type: 'hold-began', continued: true, hold, ...lane },
      { type: 'hold-ended', lastedMs: 9_000.317, over: true, ...lane },
      { type: 'lane-lost', ...lane },
      { type: 'lane-acquired', lapsed: true, standIn: false, ...lane },
      { type: 'database-away', error: 'no answer' },
      { type: 'database-back', awayMs: 65_000 },
      { type: 'temporal-away', error: new Error('no') },
      { type: 'temporal-back', awayMs: 214.3393750000032 },
    ),
  ).toEqual([
    'alert-began: alert oldestDue: The oldest due message waits for 2 min.',
    'alert-ended: alert oldestDue is over: The oldest due message waits for 2 min.',
    'hold-began: lane orders/3 waits: it is away',
    'hold-ended: lane orders/3 no longer waits, after 9 seconds',
    'lane-lost: lane orders/3 is lost: another owner may have it',
    'lane-acquired: took lane orders/3 from an owner that had died',
    'database-away: delivers nothing until PostgreSQL is back: no answer',
    'database-back: PostgreSQL is back, after 1 minute 5 seconds',
    'temporal-away: delivers without Temporal until it is back: Error: no',
    'temporal-back: Temporal is back, after 214 ms',
  ]);
});

test('a relay that begins while a lane is on hold logs it once, and the next hold as well', () => {
  const told = [
    { type: 'hold-began', continued: true, hold, ...lane },
    { type: 'hold-ended', lastedMs: 4_000, over: false, ...lane },
    { type: 'hold-began', continued: true, hold, ...lane },
    { type: 'hold-ended', lastedMs: 9_000, over: true, ...lane },
    { type: 'hold-began', continued: true, hold: { ...hold, reason: 'it refuses' }, ...lane },
  ] as const;

  expect(logged(...told)).toEqual([
    'hold-began: lane orders/3 waits: it is away',
    'hold-ended: lane orders/3 no longer waits, after 9 seconds',
    'hold-began: lane orders/3 waits: it refuses',
  ]);
});

test('a look at the archive is a line if it moved something', () => {
  expect(logged({ type: 'archived', count: 0 }, { type: 'archived', count: 1 })).toEqual([
    'archived: archived 1 message',
  ]);
});

test('what comes with each message or batch is no line', { tags: ['log-has-one-schema'] }, () => {
  const delays = { delaysMs: [], latenessMs: [] };
  expect(
    logged(
      {
        type: 'batch-settled',
        acknowledged: 1,
        exceptions: 0,
        transport: 'kafka',
        publishMs: 1,
        ...delays,
        ...lane,
      },
      { type: 'lane-acquired', lapsed: false, standIn: false, ...lane },
      { type: 'lane-freed', quiet: true, ...lane },
      { type: 'lanes-started', count: 1 },
      { type: 'messages-confirmed', topic: 'orders', count: 1 },
      { type: 'messages-started', count: 1 },
      { type: 'messages-swept', count: 1 },
    ),
  ).toEqual([]);
});
