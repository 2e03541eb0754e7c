import { setTimeout as delay } from 'node:timers/promises';
import { OutboxError } from '../../core/errors.ts';
import { type KeptState, openKeptStates } from '../../core/parked-states.ts';
import type { Database } from '../../store/database/database.ts';
import type { KeptAnswer, KeptChange, KeptRefusal } from '../../store/inbox/change.ts';
import {
  countKeptMatches,
  type KeptPosition,
  type KeptSelection,
  type ListedKept,
  lastKeptPosition,
  listKept,
  walkKept,
} from '../../store/inbox/list.ts';
import { messagesPerTransaction } from '../../store/message/change-messages.ts';
import { type BulkOptions, checkOptions } from '../bulk-filter.ts';
import { changePatiently } from './change.ts';
import { checkKeptFilter, invalid, type KeptFilter } from './kept-target.ts';

/** How a change of many kept messages went. */
export interface KeptManyAnswer {
  /** True: nothing was changed. */
  readonly dryRun: boolean;
  /** Messages that matched at the beginning, counted up to a million. */
  readonly count: number;
  /** False: a million or more match. */
  readonly exact: boolean;
  /** The latest ten of them, before the change. */
  readonly sample: readonly ListedKept[];
  /** By result; all 0 after a dry run. */
  readonly counts: Readonly<Record<'done' | KeptRefusal, number>>;
  /** The first hundred to which nothing was done, with the reasons. */
  readonly refused: readonly KeptAnswer[];
}

const countLimit = 1_000_000;
const sampleSize = 10;
const refusedLimit = 100;

/**
 * Changes all messages of a group that match a filter, in pages of at most 1,000, each a transaction. Messages that arrive
 * after the beginning are not in it. What others have in hand is tried for two seconds per page, and counted as `busy`.
 *
 * It runs in the caller: when that one ends, what was done stays done, and the same call goes on with the rest.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID` without a group or with nothing beside it, `OUTBOX_BULK_UNEXPECTED`
 */
export async function changeKeptMany(
  database: Database,
  filter: KeptFilter,
  change: KeptChange<string>,
  options: BulkOptions,
): Promise<KeptManyAnswer> {
  const { author, dryRun, expect, ratePerSecond } = checkOptions(options);
  const selection = checkManyFilter(filter, change.action);
  const until = await lastKeptPosition(database, selection.group);
  const count = await countKeptMatches(database, selection, countLimit);
  if (expect !== undefined && expect !== count) throw unexpected(expect, count);
  const { messages: sample } = await listKept(database, selection, sampleSize, null);
  const counts = { done: 0, 'too-late': 0, 'behind-key': 0, unknown: 0, busy: 0 };
  const refused: KeptAnswer[] = [];
  const answer = { dryRun, count, exact: count < countLimit, sample, counts, refused };
  if (dryRun) return answer;
  const pageSize = Math.min(messagesPerTransaction, ratePerSecond);
  let after: KeptPosition | null = null;
  for (;;) {
    const startedAt = performance.now();
    const page: readonly KeptPosition[] = await walkKept(database, selection, { after, until }, pageSize);
    const ids = page.map(({ id }) => id);
    const answers = await changePatiently(database, selection.group, ids, change, { author, dryRun });
    for (const one of answers) {
      if (isRefused(one)) refused.push(...(refused.length < refusedLimit ? [one] : []));
      counts[isRefused(one) ? one.result : 'done'] += 1;
    }
    after = page.at(-1) ?? after;
    if (page.length < pageSize) return answer;
    await delay(Math.max(0, startedAt + (page.length * 1_000) / ratePerSecond - performance.now()));
  }
}

function checkManyFilter(filter: KeptFilter, action: string): KeptSelection & { readonly group: string } {
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
  const { group, ...others } = checkKeptFilter(given);
  if (group === undefined) throw invalid('group', 'is missing: a change of many is one of one group');
  if (Object.keys(others).length === 0)
    throw invalid('filter', 'is empty: say which messages of the group are meant, by their states at least');
  const open: readonly KeptState[] = openKeptStates;
  const wrong = others.states?.find((state) => !open.includes(state));
  if (wrong !== undefined)
    throw invalid('states', `has "${wrong}": ${action} can be asked for ${open.join(', ')}`);
  return { ...others, group, states: others.states ?? open };
}

function isRefused(answer: KeptAnswer<string>): answer is KeptAnswer {
  return ['too-late', 'behind-key', 'unknown', 'busy'].includes(answer.result);
}

function unexpected(expected: number, count: number): OutboxError {
  return new OutboxError(
    'OUTBOX_BULK_UNEXPECTED',
    `${count} messages match, not ${expected}: nothing was done.`,
    { details: { expected, count } },
  );
}
