import type { OutboxError } from '../../core/errors.ts';
import { oneOf, optional, whole } from '../../core/options/values.ts';
import { statedTime } from '../../core/written-time.ts';
import { type BulkAction, type BulkChange, type KeptAction, keptActions } from '../../store/bulk/bulk.ts';
import { actionableKeptStates, actionableStates, deliveredStates } from '../../store/bulk/changes.ts';
import type { KeptBulkFilter } from '../../store/bulk/kept-selection.ts';
import type { BulkFilter } from '../../store/bulk/selection.ts';
import type { KeptFilter } from '../../store/inbox/list.ts';
import type { MessageFilter } from '../../store/message/list.ts';
import { checkFilter, checkKeptFilter } from '../filters.ts';
import {
  assertId,
  assertText,
  authorOf,
  invalid,
  type OperationOptions,
  optionOf,
} from '../operation-options.ts';

/** Options of a bulk operation. */
export interface BulkOptions extends OperationOptions {
  /** Why, up to 2,000 characters. Recorded in the audit of every message. */
  readonly reason: string;
  /** Maximum number of messages per second, 1 to 10,000. @defaultValue 500 */
  readonly ratePerSecond?: number;
  /** The number of messages that a dry run has counted: if another number matches, nothing is started. @defaultValue any */
  readonly expect?: number;
}

/** The checked options of a bulk operation. */
export interface CheckedOptions {
  readonly author: { readonly actor: string; readonly reason: string };
  readonly ratePerSecond: number;
  readonly expect: number | undefined;
  readonly dryRun: boolean;
}

/** A hundred years. The limit of the topic is checked when the message is changed. */
const longestMs = 36_525 * 24 * 60 * 60 * 1_000;

/** @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function checkOptions(options: BulkOptions): CheckedOptions {
  const { actor, dryRun = false, expect, ratePerSecond, reason } = options;
  assertText('reason', reason, 2_000);
  authorOf(options);
  return {
    author: { actor, reason },
    ratePerSecond: optionOf('ratePerSecond', whole(1, 10_000, 500), ratePerSecond),
    expect: optionOf('expect', optional(whole(0, undefined)), expect),
    dryRun,
  };
}

/**
 * A filter with the states that the action applies to. Without states: all of them; for a replay those of delivered messages.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID` if it is empty, has no topic for a replay, names an id, or states that the action does not apply to
 */
export function checkBulkFilter(filter: MessageFilter, action: BulkAction): BulkFilter {
  const { id, states, ...checked } = checkFilter(filter);
  if (id !== undefined)
    throw invalid('id', 'cannot filter a bulk operation: call the operation with the ids');
  if (action === 'replay' && checked.topic === undefined)
    throw invalid('topic', 'is missing: a replay is of one topic');
  if (states === undefined && Object.keys(checked).length === 0) throw isEmpty();
  const asked = action === 'replay' ? (states ?? deliveredStates) : states;
  return { ...checked, states: actionable(action, asked, actionableStates[action]) };
}

/**
 * The same for messages that a group keeps; the filter needs another condition besides the group.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`
 */
export function checkKeptBulkFilter(
  filter: KeptFilter,
  action: KeptAction,
): KeptBulkFilter & Pick<KeptFilter<number>, 'olderThan'> {
  const { group, states, ...checked } = checkKeptFilter(filter);
  if (group === undefined) throw invalid('group', 'is missing: a bulk operation is for one group');
  if (states === undefined && Object.keys(checked).length === 0) throw isEmpty();
  return { ...checked, group, states: actionable(action, states, actionableKeptStates[action]) };
}

/** @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function checkKeptAction(action: string): KeptAction {
  return optionOf('action', oneOf(keptActions), action);
}

/** @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function checkChange(change: BulkChange): BulkChange {
  if (!Object.hasOwn(actionableStates, change.action))
    throw invalid('action', `must be one of ${Object.keys(actionableStates).join(', ')}`);
  if (change.action === 'replay') {
    const { ids, to } = change;
    assertText('to', to, 200);
    return { action: 'replay', to, ...(ids !== undefined && { ids: checkIds(ids) }) };
  }
  if (change.action !== 'reschedule') return { action: change.action };
  const { due } = change;
  if ('at' in due) {
    if (statedTime(due.at) === undefined) throw invalid('at', 'must be an ISO time with its zone');
    return { action: 'reschedule', due: { at: due.at } };
  }
  const [name, ms] =
    'afterMs' in due ? (['afterMs', due.afterMs] as const) : (['shiftMs', due.shiftMs] as const);
  if (!Number.isFinite(ms) || Math.abs(ms) > longestMs || (name === 'afterMs' && ms < 0))
    throw invalid(name, 'must be a time in milliseconds');
  return { action: 'reschedule', due };
}

/** Named messages of one replay. */
const mostIds = 1_000;

/** @throws OutboxError `OUTBOX_OPTION_INVALID`, `OUTBOX_ID_INVALID` */
function checkIds(ids: readonly string[]): readonly string[] {
  const distinct = [...new Set(ids.map(assertId))];
  if (distinct.length >= 1 && distinct.length <= mostIds) return distinct;
  throw invalid('ids', `names ${distinct.length} messages, but a replay takes 1 to ${mostIds}`);
}

/** The given states without repeats; if none is given, all states that the action applies to. */
function actionable<Named extends string>(
  action: BulkAction,
  states: readonly Named[] | undefined,
  possible: readonly Named[],
): readonly Named[] {
  const wrong = states?.find((state) => !possible.includes(state));
  if (wrong !== undefined)
    throw invalid('states', `has "${wrong}", but ${action} applies only to ${possible.join(', ')}`);
  return states === undefined ? possible : [...new Set(states)];
}

function isEmpty(): OutboxError {
  return invalid('filter', 'is empty: give at least the states of the messages');
}
