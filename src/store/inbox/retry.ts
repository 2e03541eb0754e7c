import type { KeptChange, KeptChanged } from './change.ts';

/**
 * Has failed messages tried again, with all tries, in their old places: before the later messages of their keys that
 * queue. Of a parked message that is the first of its key the next try is now; its tries count on.
 *
 * A key that was free is parked by it, so that no handler takes a message of it out of turn; handlers that began before
 * are waited for by the first try, not here.
 */
export const retryKept: KeptChange<'retried'> = {
  action: 'retry',
  apply: (sql, group, ids) =>
    sql.query<KeptChanged<'retried'>>(
      `select x.id, c.result, c.details from unnest($2::text[]) with ordinality x (id, n)
         cross join lateral outbox.retry_kept($1, x.id) c order by x.n`,
      [group, [...ids]],
    ),
};
