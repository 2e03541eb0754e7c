import { type Due, dueOf } from '../../core/due.ts';
import { longestDurationMs } from '../../core/duration.ts';
import { sparse } from '../../core/options/collections.ts';
import { cancelChange, discardChange, type MessageAnswer, retryChange } from '../../store/message/change.ts';
import { type Expunged, expungeChange } from '../../store/message/expunge.ts';
import type { MessageFilter } from '../../store/message/list.ts';
import { type NewDue, type Rescheduled, rescheduleChange } from '../../store/message/reschedule.ts';
import { changeMessages, type Target } from '../change.ts';
import type { DeclaredTable } from '../declared.ts';
import { type Edited, editDeclared, editFailed } from '../edit.ts';
import { assertEditOptions, type EditOptions } from '../edit-content.ts';
import { messageFilter, namedMessages, newDue, ofMessage, showInputs } from '../inputs/messages.ts';
import { authored, page, waiting } from '../inputs/values.ts';
import { type ListPageOptions, list, type MessageList } from '../list.ts';
import { assertWays, invalid, type OperationOptions } from '../operation-options.ts';
import { type MessageDetails, type ShowOptions, showMessage } from './show.ts';
import { type WithdrawOptions, withdrawMessages } from './withdraw.ts';

/** Options of a reschedule. */
export type RescheduleOptions = OperationOptions & Due;

/**
 * What an operator may do with messages of the outbox.
 *
 * There is one answer per message, in the order of the ids: what was done, `too-late` (its state no longer allows it),
 * `unknown`, or `busy` (another transaction or relay holds it: nothing was done). A ref that matches nothing has no answer.
 */
export interface MessageOperations {
  /** Live messages, newest first; with a filter by id, or by topic and ref, archived ones too. */
  list(filter?: MessageFilter, page?: ListPageOptions): Promise<MessageList>;
  /**
   * Everything about one message, as one timeline with what groups of this database and of `groups` did with it, and why it has no
   * effect yet. A group's database that does not answer within three seconds is a gap. `message` is `null` if only a group
   * knows it; `undefined` if none does, of those that answer.
   */
  show(id: string, options?: ShowOptions): Promise<MessageDetails | undefined>;
  /** Cancels messages that are waiting, retrying, or blocked. */
  cancel(target: Target, options: OperationOptions): Promise<readonly MessageAnswer<'canceled'>[]>;
  /** Moves the due time of waiting messages, but not past their expiry; `after: 0` means now. */
  reschedule(target: Target, options: RescheduleOptions): Promise<readonly MessageAnswer<Rescheduled>[]>;
  /** Makes failed and retrying messages ready now. They keep their position in the order of their key. */
  retry(target: Target, options: OperationOptions): Promise<readonly MessageAnswer<'retried' | 'expired'>[]>;
  /** Replaces a failed message by a corrected copy with a new id, in its place. Rejects with `OUTBOX_CONFLICT` if another edit was faster. */
  edit(id: string, options: EditOptions): Promise<Edited>;
  /** Ends failed messages for good. */
  discard(target: Target, options: OperationOptions): Promise<readonly MessageAnswer<'discarded'>[]>;
  /**
   * Removes payload, headers and errors of ended messages, archived ones too, and cannot be undone. The rows stay, so that lists, counts
   * and `verify` are as before; a replay leaves them out. What brokers, consumers and copies have is theirs. `not-ended`: it may still be
   * sent, or be sent again while it awaits a receipt.
   */
  expunge(target: Target, options: OperationOptions): Promise<readonly MessageAnswer<Expunged>[]>;
  /** Also cancels ready messages that were certainly not published. Pauses the topic if a relay owns the lane. */
  withdraw(target: Target, options: WithdrawOptions): Promise<readonly MessageAnswer<'canceled'>[]>;
}

const change = {
  role: 'operator',
  of: { target: sparse(namedMessages) },
  options: authored,
  check: assertTarget,
} as const;

/** What an operation that follows messages, again and again, has of a declaration. */
export const tailDeclared = { text: 'follow messages, new ones and changes', role: 'viewer' } as const;

/** The operations on messages of the outbox. */
export const messageTable = {
  list: {
    text: 'list messages, newest first',
    overHttp: 'By topic and ref archived ones, too.',
    role: 'viewer',
    of: { filter: sparse(messageFilter) },
    query: page,
    run: ({ database }, filter, asked) => list(database, filter, asked),
  },
  show: {
    text: 'show one message, and why it is not delivered',
    overHttp: 'Without payload and headers.',
    role: 'viewer',
    of: ofMessage,
    query: showInputs,
    run: ({ database, groups, logs }, id, { log = false } = {}) =>
      showMessage(database, id, { groups, logs: log ? logs() : undefined }),
  },
  cancel: {
    text: 'cancel waiting, retrying or blocked messages',
    ...change,
    run: ({ database }, target, options) => changeMessages(database, target, cancelChange, options),
  },
  reschedule: {
    text: 'move the due time of waiting messages',
    ...change,
    options: { ...authored, ...newDue },
    check(target, options) {
      assertTarget(target);
      timeOf(options);
    },
    run: ({ database }, target, options) =>
      changeMessages(database, target, rescheduleChange(timeOf(options)), options),
  },
  retry: {
    text: 'deliver failed or retrying messages now',
    ...change,
    run: ({ database }, target, options) => changeMessages(database, target, retryChange, options),
  },
  edit: {
    text: 'replace a failed message by a corrected copy',
    overHttp: 'The copy has a new id. `If-Match`: its `version` as it was shown.',
    ...editDeclared,
    of: ofMessage,
    check: (_id, options) => assertEditOptions(options),
    run: ({ checkPayload, database }, id, options) => editFailed(database, id, options, checkPayload),
  },
  discard: {
    text: 'end failed messages for good',
    ...change,
    run: ({ database }, target, options) => changeMessages(database, target, discardChange, options),
  },
  expunge: {
    text: 'remove payload, headers and errors of ended messages for good',
    ...change,
    role: 'admin',
    run: ({ database }, target, options) => changeMessages(database, target, expungeChange, options),
  },
  withdraw: {
    text: 'cancel, also ready messages that were certainly not published',
    overHttp: 'It pauses the topic if a relay owns the lane.',
    ...change,
    options: { ...authored, ...waiting('waitForRelays') },
    run: ({ database }, target, options) => withdrawMessages(database, target, options),
  },
} satisfies DeclaredTable<MessageOperations>;

function assertTarget(target: Target): void {
  assertWays('a target', [['ids'], ['topic', 'ref']], target);
}

function timeOf(options: RescheduleOptions): NewDue {
  const { afterMs, at } = dueOf(options, longestDurationMs);
  if (at !== undefined) return { at };
  if (afterMs !== undefined) return { afterMs };
  throw invalid('after', 'is missing, as is "at"');
}
