import { conditionValues, type KeptChange, type KeptChanged } from './change.ts';

/**
 * Retries failed messages, with all of their tries, in their old places: before the queued later messages of their keys. For
 * a parked message that is the first of its key the next try is now, and its tries count on.
 *
 * A free key becomes parked by this, so that no handler takes a message of it out of order; the first try, not this call,
 * waits for handlers that have already begun.
 *
 * None of the messages overtakes an earlier one of its key that is busy.
 */
export const retryKept: KeptChange<'retried'> = {
  action: 'retry',
  apply: (sql, group, ids, condition) =>
    sql.query<KeptChanged<'retried'>>(
      'select r.id, r.result, r.details from outbox.retry_kept_in_order($1, $2::text[], $3::text[], $4::text) r',
      [group, [...ids], ...conditionValues(condition)],
    ),
};
