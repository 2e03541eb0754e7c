import { several } from '../../core/options/servers.ts';
import { flag, oneOf, optional } from '../../core/options/values.ts';
import { keptStates } from '../../core/parked-states.ts';
import { optionTexts, statesText } from '../descriptions.ts';
import { condition, keptText, meaning, span, spanForm, topicName } from './values.ts';

const conditions = {
  topic: meaning(optional(topicName), optionTexts.topic),
  states: meaning(optional(several(oneOf(keptStates), /,/)), statesText(keptStates)),
  key: meaning(optional(condition), optionTexts.key),
  reason: meaning(optional(condition), optionTexts.keptFor),
  olderThan: meaning(optional(span), optionTexts.olderThan, spanForm),
};

/** Conditions of a list of kept messages. */
export const keptListFilter = {
  group: meaning(optional(keptText), optionTexts.group),
  ...conditions,
  head: meaning(optional(flag()), optionTexts.head),
};

/** Conditions of kept messages of one group. */
export const keptFilter = { ...conditions, group: meaning(keptText, optionTexts.group) };
