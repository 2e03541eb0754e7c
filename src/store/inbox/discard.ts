import { conditionValues, type KeptChange, type KeptChanged } from './change.ts';

/**
 * Ends failed and parked messages for good. Where they held their keys, or were the first of them, the keys go on. They
 * are not handled any more, also when they are delivered once more.
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
