import { conditionValues, type KeptChange, type KeptChanged } from './change.ts';

/**
 * Has failed messages tried again, with all tries, in their old places: before the later messages of their keys that
 * queue. Of a parked message that is the first of its key the next try is now; its tries count on.
 *
 * A key that was free is parked by it, so that no handler takes a message of it out of turn; handlers that began before
 * are waited for by the first try, not here.
 *
 * None of them overtakes an earlier one of its key that is busy.
 */
export const retryKept: KeptChange<'retried'> = {
  action: 'retry',
  apply: (sql, group, ids, condition) =>
    sql.query<KeptChanged<'retried'>>(
      'select r.id, r.result, r.details from outbox.retry_kept_in_order($1, $2::text[], $3::text[], $4::text) r',
      [group, [...ids], ...conditionValues(condition)],
    ),
};
