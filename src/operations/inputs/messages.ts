import type { Reader } from '../../core/options/reader.ts';
import { several } from '../../core/options/servers.ts';
import { flag, oneOf, optional, text, unchecked } from '../../core/options/values.ts';
import { states } from '../../core/transitions.ts';
import { optionTexts, statesText } from '../descriptions.ts';
import {
  authored,
  condition,
  entries,
  givenTime,
  headerChanges,
  meaning,
  messageId,
  messageIds,
  span,
  spanForm,
  timeForm,
  topicName,
} from './values.ts';

/** Conditions of a filter, whose times `time` reads. */
export const messageConditions = <Time>(time: Reader<Time>) => ({
  topic: meaning(optional(topicName), optionTexts.topic),
  states: meaning(optional(several(oneOf(states), /,/)), statesText(states)),
  key: meaning(optional(condition), optionTexts.key),
  ref: meaning(optional(condition), optionTexts.ref),
  error: meaning(optional(condition), optionTexts.error, 'Needs the right to payloads.'),
  createdFrom: meaning(optional(time), optionTexts.createdFrom, timeForm),
  createdTo: meaning(optional(time), optionTexts.createdTo, timeForm),
  dueFrom: meaning(optional(time), optionTexts.dueFrom, timeForm),
  dueTo: meaning(optional(time), optionTexts.dueTo, timeForm),
});

/** Conditions of the filter of a request. */
export const messageFilter = messageConditions(givenTime);

/** The message that an operation is of. */
export const ofMessage = { id: messageId };

/** What else to ask about a message. */
export const showInputs = { log: meaning(optional(flag()), optionTexts.log) };

/** When a message is due instead. */
export const newDue = {
  after: meaning(optional(span), optionTexts.dueAfter, spanForm),
  at: meaning(optional(givenTime), optionTexts.dueAt, timeForm),
};

/** Conditions of what is followed. */
export const tailInputs = {
  ...messageFilter,
  last: meaning(entries(0), optionTexts.last, '0 if not given.'),
};

/** Messages of a change: by ids, or by topic and ref. */
export const namedMessages = {
  ids: meaning(optional(messageIds(200)), 'up to 200 UUIDs', 'Or `topic` and `ref`.'),
  topic: meaning(optional(topicName), optionTexts.topic),
  ref: meaning(
    optional(condition),
    optionTexts.ref,
    'With `topic`: the waiting message of it, else the newest.',
  ),
};

/** Corrections to a failed message. */
export const corrections = {
  ...authored,
  payload: meaning(unchecked, 'the new payload, as JSON'),
  payloadText: meaning(
    optional(text()),
    'the new payload as the text of JSON, stored exactly so: for integers above 2^53',
  ),
  headers: meaning(optional(headerChanges), 'headers to set, or with null to remove'),
};
