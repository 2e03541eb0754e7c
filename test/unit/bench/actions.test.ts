import { expect, test } from 'vitest';
import { type Actions, actionsOf, type History } from '../../../bench/actions.ts';

type HistoryEvent = NonNullable<History['events']>[number];

const at = (seconds: number): Pick<HistoryEvent, 'eventTime'> => ({
  eventTime: { seconds: longOf(seconds) },
});

type Long = NonNullable<HistoryEvent['eventId']>;

/** Histories have numbers of 64 bits, of which only the value matters here. */
function longOf(value: number): Long {
  const [low, high] = [value | 0, 0];
  return {
    low,
    high,
    unsigned: false,
    toString: () => String(value),
    valueOf: () => value,
  } as unknown as Long;
}

const nothing: Actions = {
  'workflows started': 0,
  'activities started or retried': 0,
  'heartbeats, at most': 0,
  'timers started': 0,
  signals: 0,
  'search attributes upserted': 0,
  'schedules carried out': 0,
};

/** A drain that runs for so long with a heartbeat timeout of five seconds, in the given try. */
function activity(seconds: number, attempt = 1): HistoryEvent[] {
  return [
    {
      eventId: longOf(5),
      ...at(100),
      activityTaskScheduledEventAttributes: { heartbeatTimeout: { seconds: longOf(5) } },
    },
    { eventId: longOf(6), ...at(100), activityTaskStartedEventAttributes: { attempt } },
    {
      eventId: longOf(7),
      ...at(100 + seconds),
      activityTaskCompletedEventAttributes: { scheduledEventId: longOf(5) },
    },
  ];
}

test('a lane is billed for its start and its drain, and for at most one heartbeat every four seconds', () => {
  const events = [{ workflowExecutionStartedEventAttributes: {} }, ...activity(60)];
  expect(actionsOf({ events })).toEqual({
    ...nothing,
    'workflows started': 1,
    'activities started or retried': 1,
    'heartbeats, at most': 16,
  });
});

test('every try of an activity is billed', () => {
  expect(actionsOf({ events: activity(1, 3) })['activities started or retried']).toBe(3);
});

test('an activity without a heartbeat timeout sends none', () => {
  const [, started = {}, completed = {}] = activity(60);
  const scheduled = { eventId: longOf(5), ...at(100), activityTaskScheduledEventAttributes: {} };
  expect(actionsOf({ events: [scheduled, started, completed] })['heartbeats, at most']).toBe(0);
});

test('a start by a schedule is billed as three actions', () => {
  const searchAttributes = { indexedFields: { TemporalScheduledById: { data: new Uint8Array([34, 34]) } } };
  const events = [{ workflowExecutionStartedEventAttributes: { searchAttributes } }];
  expect(actionsOf({ events })).toEqual({ ...nothing, 'workflows started': 1, 'schedules carried out': 2 });
});

test('timers, signals and search attributes are billed, and tasks and ends of workflows are not', () => {
  const events = [
    { timerStartedEventAttributes: {} },
    { timerFiredEventAttributes: {} },
    { workflowExecutionSignaledEventAttributes: {} },
    { upsertWorkflowSearchAttributesEventAttributes: {} },
    { workflowTaskScheduledEventAttributes: {} },
    { workflowTaskCompletedEventAttributes: {} },
    { workflowExecutionContinuedAsNewEventAttributes: {} },
    { workflowExecutionCompletedEventAttributes: {}, workflowExecutionStartedEventAttributes: null },
  ];
  expect(actionsOf({ events })).toEqual({
    ...nothing,
    'timers started': 1,
    signals: 1,
    'search attributes upserted': 1,
  });
});
