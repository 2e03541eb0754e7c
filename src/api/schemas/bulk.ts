import { z } from 'zod';
import { optionTexts } from '../../operations/descriptions.ts';
import { keptFilter, listedKept } from './inbox.ts';
import { listedMessage, messageFilter } from './messages.ts';
import {
  component,
  count,
  givenTime,
  meaning,
  messageId,
  span,
  spanForm,
  time,
  timeForm,
  topicName,
} from './values.ts';

const options = {
  reason: meaning(z.string().min(1).max(2_000), optionTexts.reason, 'It is kept with every message.'),
  dryRun: meaning(
    z.exactOptional(z.boolean()),
    optionTexts.dryRun,
    'The answer has the count and the first messages.',
  ),
  ratePerSecond: meaning(
    z.exactOptional(z.number().int().min(1).max(10_000)),
    optionTexts.ratePerSecond,
    '500 if not given.',
  ),
  expect: meaning(z.exactOptional(count), optionTexts.expect, 'A dry run answers their `count`.'),
};

/** What {@link bulkStart} and {@link keptBulkStart} say of their `task`. */
const taskText = 'What is done to every message: `{ "action": "retry" }`, or another action.';

const task = z.union(
  [
    z.strictObject({ action: z.enum(['cancel', 'discard', 'retry', 'withdraw']) }),
    z.strictObject({
      action: z.literal('replay'),
      to: meaning(z.exactOptional(topicName), optionTexts.replayTo),
      ids: meaning(z.exactOptional(z.array(messageId).min(1).max(1_000)), optionTexts.replayIds),
    }),
    z.strictObject({
      action: z.literal('reschedule'),
      after: meaning(span, optionTexts.dueAfter, spanForm),
    }),
    z.strictObject({
      action: z.literal('reschedule'),
      at: meaning(givenTime, optionTexts.dueAt, timeForm),
    }),
    z.strictObject({
      action: z.literal('reschedule'),
      shift: meaning(span, optionTexts.shift, spanForm),
    }),
  ],
  'must be an object with "action": cancel, discard, retry, withdraw, replay, or reschedule with "after", "at" or "shift"',
);

/** A change of all messages that match a filter. */
export const bulkStart = component(
  'BulkStart',
  z.strictObject({ filter: messageFilter, task: task.describe(taskText), ...options }),
);

/** The same for messages that a group keeps. */
export const keptBulkStart = component(
  'KeptBulkStart',
  z.strictObject({
    filter: keptFilter,
    task: z.strictObject({ action: z.enum(['discard', 'retry']) }).describe(taskText),
    ...options,
  }),
);

const bulkState = z.enum(['running', 'paused', 'aborted', 'done', 'failed']);

/** What a dry run found, or what was started. */
export const bulkAnswer = component(
  'BulkAnswer',
  z.object({
    id: messageId.nullable().describe('Null after a dry run.'),
    state: bulkState.nullable(),
    count,
    exact: z.boolean(),
    sample: z.array(z.union([listedMessage, listedKept])),
  }),
);

/** A bulk operation and its progress. */
export const shownBulk = component(
  'BulkOperation',
  z.looseObject({
    id: messageId,
    group: z.string().nullable(),
    action: z.string(),
    filter: z.looseObject({}),
    actor: z.string(),
    reason: z.string(),
    ratePerSecond: count,
    state: bulkState,
    total: count,
    totalExact: z.boolean(),
    counts: z.record(z.string(), count),
    pending: count,
    lastError: z.string().nullable(),
    createdAt: time,
    updatedAt: time,
    finishedAt: time.nullable(),
    answered: count,
    progress: z.number().nullable(),
    etaMs: z.number().nullable(),
  }),
);

/** Bulk operations, newest first. */
export const bulkList = component('BulkList', z.object({ bulks: z.array(shownBulk) }));

/** The answer to a pause, resume or abort. */
export const bulkStep = component('BulkStep', z.object({ changed: z.boolean(), state: bulkState }));
