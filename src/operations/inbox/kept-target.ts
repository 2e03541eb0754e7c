import { type Duration, durationMs } from '../../core/duration.ts';
import { OutboxError } from '../../core/errors.ts';
import { type KeptState, keptStates } from '../../core/parked-states.ts';
import type { KeptName } from '../../store/inbox/edit.ts';
import type { KeptSelection } from '../../store/inbox/list.ts';
import { assertText } from '../operation-options.ts';

/** A filter of messages that consumers keep. All given conditions must hold. */
export interface KeptFilter {
  /** Name of the consumer group. */
  readonly group?: string;
  /** Name of the topic, exactly. */
  readonly topic?: string;
  /** States, at least one. @defaultValue all */
  readonly states?: readonly KeptState[];
  /** The key as it is listed: one of more than 512 bytes ends in its digest. */
  readonly key?: string;
  /**
   * Why it is kept: `error` (its handler failed), `killed` (it killed its consumer), or why it cannot be read: `invalid`,
   * `no-id`, `unknown-topic`, `unknown-version`, `unreadable`.
   */
  readonly reason?: string;
  /** Arrived at least this long ago. */
  readonly olderThan?: Duration;
}

/** Messages that one group keeps, by their ids. */
export interface KeptTarget {
  /** Name of the consumer group. */
  readonly group: string;
  /** Ids of the messages within the group, 1 to 10,000. */
  readonly ids: readonly string[];
}

const filterNames = new Set(['group', 'topic', 'states', 'key', 'reason', 'olderThan']);
const longestId = 1_000;
/** Maximum number of messages per call. */
const targetLimit = 10_000;

/** @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function checkKeptFilter(filter: KeptFilter): KeptSelection {
  const unknown = Object.keys(filter).find((name) => !filterNames.has(name));
  if (unknown !== undefined) throw invalid(unknown, 'is not a known filter');
  const { states, olderThan, ...texts } = filter;
  for (const name of ['group', 'topic', 'key', 'reason'] as const)
    if (texts[name] !== undefined) assertText(name, texts[name], longestId);
  const bad = states?.find((state) => !keptStates.includes(state));
  if (bad !== undefined)
    throw invalid('states', `has "${bad}", which is not one of ${keptStates.join(', ')}`);
  if (states?.length === 0) throw invalid('states', 'is empty');
  const olderThanMs = olderThan === undefined ? undefined : durationMs(olderThan);
  if (olderThan !== undefined && (olderThanMs === undefined || olderThanMs < 0))
    throw invalid('olderThan', 'is not a duration');
  return {
    ...texts,
    ...(states !== undefined && { states }),
    ...(olderThanMs !== undefined && { olderThanMs }),
  };
}

/** @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function checkKeptName({ group, id }: KeptName): KeptName {
  assertText('group', group, longestId);
  assertText('id', id, longestId);
  return { group, id };
}

/** The target without repeated ids. @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function checkKeptTarget({ group, ids }: KeptTarget): KeptTarget {
  assertText('group', group, longestId);
  for (const id of ids) assertText('ids', id, longestId);
  const distinct = [...new Set(ids)];
  if (distinct.length >= 1 && distinct.length <= targetLimit) return { group, ids: distinct };
  throw invalid('ids', `names ${distinct.length} messages, but an operation takes 1 to ${targetLimit}`);
}

export function invalid(option: string, why: string): OutboxError {
  return new OutboxError('OUTBOX_OPTION_INVALID', `The option "${option}" ${why}.`, { details: { option } });
}
