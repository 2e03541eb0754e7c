import type { KeptAction } from '../../store/bulk/bulk.ts';
import { fixAge } from '../../store/bulk/count.ts';
import { type KeptBulkFilter, walkOfKept } from '../../store/bulk/kept-selection.ts';
import type { Database } from '../../store/database/database.ts';
import type { ListedKept } from '../../store/inbox/list.ts';
import { type BulkAnswer, startChecked } from '../bulk.ts';
import { type BulkOptions, checkKeptAction, checkKeptBulkFilter, checkOptions } from '../bulk-filter.ts';
import type { KeptFilter } from './kept-target.ts';

/**
 * Starts a change of all messages of a group that match a filter: its consumers carry it out within its rate, page by page,
 * and neither a crash of this process nor of consumers stops it or repeats a message. What arrives after the start is not in
 * it, nor copies that are made then, nor what no longer matches when its page comes.
 *
 * A dry run counts and shows what would be changed, and writes nothing.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID` (without a group, or with nothing beside it, among others),
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
