import { sparse } from '../../core/options/collections.ts';
import type { Reader } from '../../core/options/reader.ts';
import { firstFit, flag, oneOf, optional, whole } from '../../core/options/values.ts';
import { optionTexts } from '../descriptions.ts';
import { storable } from '../operation-options.ts';
import { keptFilter } from './kept.ts';
import { messageFilter } from './messages.ts';
import { givenTime, meaning, messageIds, span, spanForm, timeForm, topicName } from './values.ts';

/** Options of a start. */
export const bulkOptions = {
  reason: meaning(storable(2_000), optionTexts.reason, 'It is kept with every message.'),
  dryRun: meaning(optional(flag()), optionTexts.dryRun, 'The answer has the count and the first messages.'),
  ratePerSecond: meaning(optional(whole(1, 10_000)), optionTexts.ratePerSecond, '500 if not given.'),
  expect: meaning(optional(whole(0, undefined)), optionTexts.expect, 'A dry run answers their `count`.'),
};

/** What the tasks below say of `task`. */
const taskText = 'what is done to every message: `{ "action": "retry" }`, or another action';
const reschedule = oneOf(['reschedule']);

const task = firstFit(
  [
    sparse({ action: oneOf(['cancel', 'discard', 'retry']) }),
    sparse({
      action: oneOf(['replay']),
      to: meaning(optional(topicName), optionTexts.replayTo),
      ids: meaning(optional(messageIds(1_000)), optionTexts.replayIds),
    }),
    sparse({ action: reschedule, after: meaning(span, optionTexts.dueAfter, spanForm) }),
    sparse({ action: reschedule, at: meaning(givenTime, optionTexts.dueAt, timeForm) }),
    sparse({ action: reschedule, shift: meaning(span, optionTexts.shift, spanForm) }),
  ],
  'an object with "action": cancel, discard, retry, replay, or reschedule with "after", "at" or "shift"',
);
const keptTask = sparse({ action: oneOf(['discard', 'retry']) }, 'an object with "action": discard or retry');

/** Which messages a bulk operation changes, and how. */
export const bulkOf = { filter: filterOf(sparse(messageFilter)), task: meaning(task, taskText) };

/** The same for messages that a group keeps. */
export const keptBulkOf = { filter: filterOf(sparse(keptFilter)), task: meaning(keptTask, taskText) };

function filterOf<Filter>(reader: Reader<Filter>): Reader<Filter> {
  return meaning(reader, 'conditions, of which there is at least one');
}
