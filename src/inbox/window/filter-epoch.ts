import type { SeenFilter } from '../../brokers/seen-filter.ts';
import { OutboxError } from '../../core/errors.ts';
import type { Sql } from '../../store/database/database.ts';
import { readDatabaseEpoch } from '../../store/inbox/database-epoch.ts';
import { faultOf } from '../handling/infrastructure-faults.ts';
import { filterInEpoch } from './filter-in-epoch.ts';

/**
 * The filter, bound to the epoch of the database. If the database does not show its epoch, as on Aurora, the filter must
 * have one of its own.
 *
 * @throws OutboxError `OUTBOX_EPOCH_UNKNOWN`; and the database's error if it cannot be reached
 */
export async function filterOfEpoch(
  filter: SeenFilter,
  ask: (question: (sql: Sql) => Promise<string>) => Promise<string>,
): Promise<SeenFilter> {
  try {
    return filterInEpoch(filter, await ask(readDatabaseEpoch));
  } catch (error) {
    // Our own error means that there was no answer at all.
    if (error instanceof OutboxError || faultOf(error) !== undefined) throw error;
    if (filter.epoch !== undefined) return filterInEpoch(filter, '');
    throw new OutboxError(
      'OUTBOX_EPOCH_UNKNOWN',
      'This database does not tell when its history was changed by a restore or a takeover, so the filter might drop messages whose effects were undone.',
      { cause: error },
    );
  }
}
