import { z } from 'zod';
import { states } from '../../core/transitions.ts';
import { optionTexts, statesText } from '../../operations/descriptions.ts';
import {
  authored,
  bigInteger,
  component,
  condition,
  count,
  givenTime,
  meaning,
  messageId,
  time,
  timeForm,
  topicName,
  wholeFrom,
  words,
} from './values.ts';

const state = z.enum(states);

/** Conditions of a list, as query parameters. */
export const messageQuery = {
  topic: meaning(z.exactOptional(topicName), optionTexts.topic),
  states: meaning(z.exactOptional(words(states)), statesText(states)),
  key: meaning(z.exactOptional(condition), optionTexts.key),
  ref: meaning(z.exactOptional(condition), optionTexts.ref),
  error: meaning(z.exactOptional(condition), optionTexts.error, 'Needs the right to payloads.'),
  createdFrom: meaning(z.exactOptional(givenTime), optionTexts.createdFrom, timeForm),
  createdTo: meaning(z.exactOptional(givenTime), optionTexts.createdTo, timeForm),
  dueFrom: meaning(z.exactOptional(givenTime), optionTexts.dueFrom, timeForm),
  dueTo: meaning(z.exactOptional(givenTime), optionTexts.dueTo, timeForm),
};

/** The same in a body. */
export const messageFilter = component(
  'MessageFilter',
  z.strictObject({ ...messageQuery, states: z.exactOptional(z.array(state).min(1)) }),
);

const listed = {
  id: messageId,
  topic: z.string(),
  lane: count,
  position: bigInteger,
  key: z.string().nullable(),
  ref: z.string().nullable(),
  state,
  workflowId: z.string(),
  dueAt: time.nullable(),
  attempts: count,
  lastError: z.string().nullable(),
  createdAt: time,
  updatedAt: time,
  archivedAt: time.nullable(),
};

/** A message in a list. */
export const listedMessage = component('ListedMessage', z.object(listed));

/** Conditions of what is followed, as query parameters. */
export const tailQuery = z.strictObject({
  ...messageQuery,
  last: meaning(z.exactOptional(wholeFrom(0)), optionTexts.last, '0 if not given.'),
});

/** A message that is new or has changed. */
export const tailedMessage = component(
  'TailedMessage',
  z.object({ ...listed, gap: z.boolean().describe('True: some messages before this one were left out.') }),
);

/** A page of a list. */
export const messageList = component(
  'MessageList',
  z.object({
    messages: z.array(listedMessage),
    next: z.string().nullable().describe('For `after` of the next page; null: this was the last.'),
  }),
);

/** What operators did, or were refused. */
export const auditEntry = component(
  'AuditEntry',
  z.object({
    at: time,
    actor: z.string(),
    action: z.string(),
    result: z.string(),
    reason: z.string().nullable(),
    details: z.unknown(),
  }),
);

/** Everything about a message but its payload and headers. */
export const messageDetails = component(
  'MessageDetails',
  z.object({
    message: z
      .object({
        ...listed,
        contentType: z.string(),
        expiresAt: time.nullable(),
        sends: count,
        maybePublished: z.boolean(),
        partition: count.nullable(),
        offset: z.string().nullable(),
        confirmBy: time.nullable(),
        publishedAt: time.nullable(),
        expungedAt: time.nullable().describe('When payload, headers and errors were removed.'),
        supersedes: messageId.nullable(),
        supersededBy: messageId.nullable(),
        version: z.string(),
      })
      .nullable()
      .describe('`null`: only groups know it.'),
    why: z.object({ code: z.string(), text: z.string(), next: z.exactOptional(z.string()) }),
    timeline: z.array(
      z.object({ at: time.nullable(), what: z.string(), where: z.string(), detail: z.string() }),
    ),
    workflowUrl: z.string().nullable(),
    keptBy: z.array(z.looseObject({})),
    delivery: z.looseObject({}).nullable(),
    attempts: z.array(
      z.object({
        at: time,
        outcome: z.enum(['acknowledged', 'rejected', 'ambiguous', 'permanent']),
        error: z.string().nullable(),
        partition: count.nullable(),
        offset: z.string().nullable(),
      }),
    ),
    audit: z.array(auditEntry),
  }),
);

/** A payload and its headers. */
export const revealed = component(
  'Revealed',
  z.object({
    id: z.string(),
    contentType: z.string().nullable(),
    payload: z
      .string()
      .nullable()
      .describe('As stored; for JSON exactly its text. Null: none, `base64`, or expunged.'),
    base64: z.string().nullable().describe('A payload that is not text.'),
    headers: z.record(z.string(), z.string()).nullable(),
  }),
);

/** The answer for one message of a change. */
export const messageAnswer = component(
  'MessageAnswer',
  z.object({
    id: messageId,
    topic: z.string().nullable(),
    lane: count.nullable(),
    result: z
      .string()
      .describe('What was done, or why nothing: `too-late`, `not-ended`, `unknown`, `busy`, …'),
    state: state.nullable(),
  }),
);

/** The answers of a change of several messages. */
export const messageAnswers = component(
  'MessageAnswers',
  z.object({ answers: z.array(messageAnswer).describe('One per message, in the order of the ids.') }),
);

/** Messages of a change: by ids, or by topic and ref. */
export const namedMessages = {
  ids: z.exactOptional(z.array(messageId).min(1).max(200)).describe('Or `topic` and `ref`.'),
  topic: meaning(z.exactOptional(topicName), optionTexts.topic),
  ref: meaning(
    z.exactOptional(condition),
    optionTexts.ref,
    'With `topic`: the waiting message of it, else the newest.',
  ),
};

/** Corrections to a failed message. */
export const edit = component(
  'Edit',
  z.strictObject({
    ...authored,
    payload: z.exactOptional(z.unknown()).describe('The new payload, as JSON.'),
    payloadText: z
      .exactOptional(z.string())
      .describe('The new payload as the text of JSON, stored exactly so: for integers above 2^53.'),
    headers: z
      .exactOptional(z.record(z.string(), z.string().nullable()))
      .describe('Headers to set, or with null to remove.'),
  }),
);

/** The answer to an edit. */
export const edited = component('Edited', z.object({ id: z.string(), supersedes: z.string() }));
