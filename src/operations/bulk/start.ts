import { randomUUID } from 'node:crypto';
import { OutboxError } from '../../core/errors.ts';
import {
  type BulkChange,
  type BulkScope,
  type BulkState,
  insertBulk,
  type KeptAction,
} from '../../store/bulk/bulk.ts';
import { countSelection, fixAge, readNow } from '../../store/bulk/count.ts';
import { walkOfKept } from '../../store/bulk/kept-selection.ts';
import { isAnnounced } from '../../store/bulk/replay.ts';
import { walkOfReplay } from '../../store/bulk/replay-selection.ts';
import { walkOf } from '../../store/bulk/selection.ts';
import type { Walk } from '../../store/bulk/walk.ts';
import type { Database } from '../../store/database/database.ts';
import type { KeptFilter, ListedKept } from '../../store/inbox/list.ts';
import type { ListedMessage, MessageFilter } from '../../store/message/list.ts';
import {
  type BulkOptions,
  type CheckedOptions,
  checkBulkFilter,
  checkChange,
  checkKeptAction,
  checkKeptBulkFilter,
  checkOptions,
} from './checks.ts';

/** What a dry run found, or what was started. */
export interface BulkAnswer<Sample = ListedMessage> {
  /** `null` after a dry run: nothing was started. */
  readonly id: string | null;
  /** `done` if there is nothing to do. `null` after a dry run. */
  readonly state: BulkState | null;
  /** Messages of the selection. */
  readonly count: number;
  /** False: there are at least this many. Counting stops at 100,000, or after ten seconds. */
  readonly exact: boolean;
  /** The first ten of them. */
  readonly sample: readonly Sample[];
}

/**
 * Starts a change of all messages that match a filter: relays make it page by page, within its rate. A crash of this process
 * or of relays neither stops it nor repeats a message. Messages that are sent after the start are not included, nor those
 * that no longer match when their page is processed.
 *
 * A dry run counts and shows what would be changed, and writes nothing.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID` (for example for an empty filter), `OUTBOX_BULK_UNEXPECTED`, for a replay
 * `OUTBOX_TOPIC_UNKNOWN`
 */
export async function startBulk(
  database: Database,
  filter: MessageFilter,
  change: BulkChange,
  options: BulkOptions,
): Promise<BulkAnswer> {
  const checkedOptions = checkOptions(options);
  const checked = checkChange(change);
  const scope = { group: null, filter: checkBulkFilter(filter, checked.action) };
  if (checked.action === 'replay') await assertAnnounced(database, checked.to);
  const selectedUntil = await readNow(database);
  const selection = { filter: scope.filter, selectedUntil };
  const walk = checked.action === 'replay' ? walkOfReplay(selection, checked.ids) : walkOf(selection);
  return startChecked(database, { scope, change: checked, selectedUntil, walk }, checkedOptions);
}

/**
 * Starts a change of all messages of a group that match a filter: its consumers make it page by page, within its rate. A
 * crash of this process or of consumers neither stops it nor repeats a message. Messages that arrive after the start and
 * copies that are made after it are not included, nor messages that no longer match when their page is processed.
 *
 * A dry run counts and shows what would be changed, and writes nothing.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID` (for example without a group, or with no other condition),
 * `OUTBOX_BULK_UNEXPECTED`
 */
export async function startKeptBulk(
  database: Database,
  filter: KeptFilter,
  asked: KeptAction,
  options: BulkOptions,
): Promise<BulkAnswer<ListedKept>> {
  const checkedOptions = checkOptions(options);
  const action = checkKeptAction(asked);
  const { olderThan, ...checked } = checkKeptBulkFilter(filter, action);
  const { now: selectedUntil, arrivedTo } = await fixAge(database, olderThan);
  const fixed = { ...checked, ...(arrivedTo !== null && { arrivedTo }) };
  const walk = walkOfKept({ filter: fixed, selectedUntil });
  const scope = { group: fixed.group, filter: fixed };
  return startChecked(database, { scope, change: { action }, selectedUntil, walk }, checkedOptions);
}

/** @throws OutboxError `OUTBOX_TOPIC_UNKNOWN` if no relay delivers the topic */
async function assertAnnounced(database: Database, topic: string): Promise<void> {
  if (await isAnnounced(database, topic)) return;
  throw new OutboxError('OUTBOX_TOPIC_UNKNOWN', `No relay has announced the topic "${topic}".`, {
    details: { topic },
  });
}

/** The change and the selection of a bulk operation, with all times fixed. */
interface FixedBulk<Sample> {
  readonly scope: BulkScope;
  readonly change: BulkChange;
  readonly selectedUntil: string;
  readonly walk: Walk<Sample>;
}

/**
 * Counts, and stores the operation; a dry run only counts.
 *
 * @throws OutboxError `OUTBOX_BULK_UNEXPECTED`
 */
export async function startChecked<Sample>(
  database: Database,
  { scope, change, selectedUntil, walk }: FixedBulk<Sample>,
  { author, ratePerSecond, expect, dryRun }: CheckedOptions,
): Promise<BulkAnswer<Sample>> {
  const { count, exact, sample } = await countSelection(database, walk);
  if (dryRun) return { id: null, state: null, count, exact, sample };
  if (expect !== undefined && expect !== count) {
    throw new OutboxError(
      'OUTBOX_BULK_UNEXPECTED',
      `${expect} messages are expected, but ${exact ? '' : 'at least '}${count} match. Nothing was started.`,
      { details: { expect, count, exact } },
    );
  }
  const { id, state } = await insertBulk(database, {
    id: randomUUID(),
    scope,
    change,
    author,
    ratePerSecond,
    selectedUntil,
    total: count,
    totalExact: exact,
  });
  return { id, state, count, exact, sample };
}
