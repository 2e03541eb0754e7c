import type { KeptAction } from '../../store/bulk/bulk.ts';
import { fixAge } from '../../store/bulk/count.ts';
import { type KeptBulkFilter, walkOfKept } from '../../store/bulk/kept-selection.ts';
import type { Database } from '../../store/database/database.ts';
import type { ListedKept } from '../../store/inbox/list.ts';
import { type BulkAnswer, startChecked } from '../bulk.ts';
import { type BulkOptions, checkKeptAction, checkKeptBulkFilter, checkOptions } from '../bulk-filter.ts';
import type { KeptFilter } from './kept-target.ts';

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
  const { olderThanMs, ...checked } = checkKeptBulkFilter(filter, action);
  const { now, arrivedTo } = await fixAge(database, olderThanMs);
  const fixed: KeptBulkFilter = { ...checked, ...(arrivedTo !== null && { arrivedTo }) };
  const walk = walkOfKept({ filter: fixed, selectedUntil: now });
  return startChecked(
    database,
    { scope: { group: fixed.group, filter: fixed }, change: { action }, selectedUntil: now, walk },
    checkedOptions,
  );
}
