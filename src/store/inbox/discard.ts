import { conditionValues, type KeptChange, type KeptChanged } from './change.ts';

/**
 * Ends failed and parked messages for good. Keys that they held, or were the first of, go on. They are never handled, even if
 * they are delivered again.
 */
export const discardKept: KeptChange<'discarded'> = {
  action: 'discard',
  apply: (sql, group, ids, condition) =>
    sql.query<KeptChanged<'discarded'>>(
      `select x.id, c.result, c.details from unnest($2::text[]) with ordinality x (id, n)
         cross join lateral outbox.discard_kept($1, x.id, $3::text[], $4::text) c order by x.n`,
      [group, [...ids], ...conditionValues(condition)],
    ),
};
