import { z } from 'zod';
import { keptFilter, listedKept } from './inbox.ts';
import { listedMessage, messageFilter } from './messages.ts';
import { component, count, givenTime, messageId, span, time, topicName } from './values.ts';

const options = {
  reason: z.string().min(1).max(2_000).describe('Why, for the audit of every message.'),
  dryRun: z.exactOptional(z.boolean()).describe('True: only counts, and shows the first messages.'),
  ratePerSecond: z
    .exactOptional(z.number().int().min(1).max(10_000))
    .describe('Messages per second at most, 500 if not given.'),
  expect: z
    .exactOptional(count)
    .describe('The count of a dry run: if another number matches, nothing is started.'),
};

const task = z.union(
  [
    z.strictObject({ action: z.enum(['cancel', 'discard', 'retry', 'withdraw']) }),
    z.strictObject({
      action: z.literal('replay'),
      to: z.exactOptional(topicName),
      ids: z.exactOptional(z.array(messageId).min(1).max(1_000)),
    }),
    z.strictObject({ action: z.literal('reschedule'), after: span }),
    z.strictObject({ action: z.literal('reschedule'), at: givenTime }),
    z.strictObject({ action: z.literal('reschedule'), shift: span }),
  ],
  'must be an object with "action": cancel, discard, retry, withdraw, replay, or reschedule with "after", "at" or "shift"',
);

/** A change of all messages that match a filter. */
export const bulkStart = component('BulkStart', z.strictObject({ filter: messageFilter, task, ...options }));

/** The same for messages that a group keeps. */
export const keptBulkStart = component(
  'KeptBulkStart',
  z.strictObject({
    filter: keptFilter,
    task: z.strictObject({ action: z.enum(['discard', 'retry']) }),
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
export const bulkList = component('BulkList', z.object({ operations: z.array(shownBulk) }));

/** The answer to a pause, resume or abort. */
export const bulkStep = component('BulkStep', z.object({ changed: z.boolean(), state: bulkState }));
