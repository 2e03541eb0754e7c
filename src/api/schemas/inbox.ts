import { z } from 'zod';
import { keptStates } from '../../core/parked-states.ts';
import { optionTexts, statesText } from '../../operations/descriptions.ts';
import { auditEntry } from './messages.ts';
import {
  bigInteger,
  component,
  condition,
  count,
  keptText,
  meaning,
  span,
  spanForm,
  time,
  topicName,
  words,
  yesOrNo,
} from './values.ts';

const state = z.enum(keptStates);

/** Conditions of a list of kept messages, as query parameters. */
const keptQuery = {
  topic: meaning(z.exactOptional(topicName), optionTexts.topic),
  states: meaning(z.exactOptional(words(keptStates)), statesText(keptStates)),
  key: meaning(z.exactOptional(condition), optionTexts.key),
  reason: meaning(z.exactOptional(condition), optionTexts.keptFor),
  olderThan: meaning(z.exactOptional(span), optionTexts.olderThan, spanForm),
};

/** The same with the condition that only a list has. */
export const keptListQuery = { ...keptQuery, head: meaning(z.exactOptional(yesOrNo), optionTexts.head) };

/** The conditions of {@link keptQuery} in a body, for one group. */
export const keptFilter = component(
  'KeptFilter',
  z.strictObject({
    ...keptQuery,
    group: keptText,
    states: z.exactOptional(z.array(state).min(1)),
  }),
);

const listed = {
  group: z.string(),
  id: z.string(),
  position: bigInteger,
  topic: z.string(),
  key: z.string().nullable(),
  state,
  reason: z.string().nullable(),
  lastError: z.string().nullable(),
  attempts: count,
  arrivedAt: time,
  updatedAt: time,
};

/** A kept message in a list. */
export const listedKept = component('ListedKept', z.object(listed));

/** A page of kept messages. */
export const keptList = component(
  'KeptList',
  z.object({ messages: z.array(listedKept), next: z.string().nullable() }),
);

/** Everything about a kept message but its body and headers. */
export const keptDetails = component(
  'KeptDetails',
  z.object({
    message: z
      .object({
        ...listed,
        address: z.string(),
        partition: count,
        offset: z.string(),
        sentAt: time,
        copiedAt: time.nullable(),
        expungedAt: time.nullable().describe('When body, headers and error were removed.'),
        supersedes: z.string().nullable(),
        supersededBy: z.string().nullable(),
        version: z.string(),
        parkedKey: z.looseObject({}).nullable(),
      })
      .nullable()
      .describe('Null: the group does not keep it.'),
    why: z.exactOptional(z.looseObject({})),
    handled: z
      .exactOptional(z.boolean())
      .describe('Of one that is not kept: whether its effects are committed.'),
    audit: z.array(auditEntry),
  }),
);

/** The answers of a change of kept messages. */
export const keptAnswers = component(
  'KeptAnswers',
  z.object({
    answers: z.array(
      z.looseObject({
        id: z.string(),
        topic: z.string().nullable(),
        result: z
          .string()
          .describe(
            'What was done, or why nothing: `too-late`, `not-ended`, `behind-key`, `unknown`, `busy`, …',
          ),
      }),
    ),
  }),
);
