import { listOf } from '../../core/options/collections.ts';
import { several } from '../../core/options/servers.ts';
import { flag, oneOf, optional } from '../../core/options/values.ts';
import { keptStates } from '../../core/parked-states.ts';
import { optionTexts, statesText } from '../descriptions.ts';
import {
  authored,
  condition,
  givenTime,
  keptText,
  meaning,
  span,
  spanForm,
  timeForm,
  topicName,
} from './values.ts';

/** Conditions of kept messages, whatever their group. */
export const keptConditions = {
  topic: meaning(optional(topicName), optionTexts.topic),
  states: meaning(optional(several(oneOf(keptStates), /,/)), statesText(keptStates)),
  key: meaning(optional(condition), optionTexts.key),
  reason: meaning(optional(condition), optionTexts.keptFor),
  olderThan: meaning(optional(span), optionTexts.olderThan, spanForm),
};

/** Conditions of a list of kept messages. */
export const keptListFilter = {
  group: meaning(optional(keptText), optionTexts.group),
  ...keptConditions,
  head: meaning(optional(flag()), optionTexts.head),
};

/** Conditions of kept messages of one group. */
export const keptFilter = { ...keptConditions, group: meaning(keptText, optionTexts.group) };

/** One message of a group. */
export const keptName = { group: keptText, id: keptText };

/** Messages of one group. */
export const keptMessages = {
  group: keptText,
  ids: meaning(
    listOf(keptText, 'a list of 1 to 200 ids', { least: 1, most: 200 }),
    'ids of the messages within the group',
  ),
};

/** Options of a rewind. */
export const rewind = {
  ...authored,
  to: meaning(givenTime, optionTexts.rewindTo, timeForm),
  topics: meaning(optional(listOf(topicName, 'a list of names of topics')), optionTexts.rewindTopics),
};
