import { z } from 'zod';
import { optionTexts } from '../../operations/descriptions.ts';
import { roles } from '../caller.ts';
import { component, count, meaning, time, topicName } from './values.ts';

const row = z.looseObject({});
const ms = z.number();

/** The state of the outbox, as far as the caller may see it. */
export const status = component(
  'Status',
  z.object({
    oldestDueMs: ms.nullable().describe('Age of the oldest message that is due and not published.'),
    lanes: z.array(
      z.looseObject({
        topic: z.string(),
        lane: count.nullable(),
        oldestDueMs: ms.nullable(),
        ready: count,
        blocked: count,
        retrying: count,
        waiting: count,
        failed: count,
        hold: row.nullable(),
        paused: z.boolean(),
        owned: z.boolean(),
      }),
    ),
    topics: z.array(z.looseObject({ name: z.string(), transport: z.string(), paused: z.boolean() })),
    relays: z.array(row),
    servers: z.array(row),
    lags: z.array(row),
    laneLocks: z.array(row),
    settings: z.array(row),
    reconciliation: row.nullable(),
    twin: row.nullable(),
    groups: z.array(row),
    consumers: z.array(row),
    breakers: z.array(row),
  }),
);

/** The caller's rights. */
export const me = component(
  'Me',
  z.object({
    name: z.string(),
    role: z.enum(roles),
    payloads: z.boolean(),
    topics: z.array(z.string()).nullable().describe('Null: all.'),
    operations: z.array(z.string()).describe('Names of the operations that the rights allow.'),
  }),
);

/** What a pause or resume is of. */
export const scopeBody = {
  topic: z.exactOptional(topicName),
  transport: meaning(z.exactOptional(z.string().min(1).max(200)), optionTexts.transport),
};

/** The answer to a pause. */
export const paused = component(
  'Paused',
  z.object({
    changed: z.boolean(),
    complete: z.boolean().describe('True: no relay owns a lane of it any more.'),
    stillDraining: z.array(z.looseObject({ topic: z.string(), lane: count })),
  }),
);

/** How far a change of lanes or partitions has come. */
export const topicChange = component(
  'TopicChange',
  z.object({
    done: z.boolean().describe('False: repeat the request.'),
    moved: z.exactOptional(count),
    waitingFor: z.exactOptional(z.enum(['deliveries', 'transactions', 'messages', 'consumers'])),
    who: z.exactOptional(z.array(z.string())),
  }),
);

/** A verification. */
export const verified = component(
  'Verified',
  z.looseObject({ ok: z.boolean(), invariants: z.array(z.looseObject({ ok: z.boolean() })), records: count }),
);

/** An adoption. */
export const adopted = component('Adopted', row);

/** A schedule. */
export const schedules = component(
  'Schedules',
  z.object({
    schedules: z.array(
      z.looseObject({
        name: z.string(),
        topic: z.string(),
        cron: z.string().nullable(),
        everyMs: z.number().nullable(),
        paused: z.boolean(),
        lastAt: time.nullable(),
        nextAt: z.array(time),
      }),
    ),
  }),
);

/** A message that was written now. */
export const scheduleRun = component('ScheduleRun', z.object({ messageId: z.string() }));
