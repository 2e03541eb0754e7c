import { numberCell, readRow } from '../database/answers.ts';
import type { Sql } from '../database/database.ts';

/** What a group keeps. Counting stops at 10,000 of each kind: that number also means more. */
export interface KeptCounts {
  /** Messages that wait for a try, or behind one that does. */
  readonly parked: number;
  /** Keys, and messages without one, that have a queue of their own. */
  readonly parkedKeys: number;
  /** Messages that have failed and wait for a person. */
  readonly failed: number;
}

/** Counting millions would take seconds at each call. */
const maxCounted = 10_000;

export async function countKept(sql: Sql, group: string): Promise<KeptCounts> {
  const rows = await sql.query<object>(
    `select
       (select count(*)::integer from (select from outbox.parked_key k join outbox.parked p on p.key_id = k.id
        where k.consumer_group = $1 and p.state = 'parked' limit $2) s) as parked,
       (select count(*)::integer from (select from outbox.parked_key k where k.consumer_group = $1 limit $2) s) as "parkedKeys",
       (select count(*)::integer from (select from outbox.parked p
        where p.consumer_group = $1 and p.state = 'failed' limit $2) s) as failed`,
    [group, maxCounted],
  );
  return readRow(rows, { parked: numberCell, parkedKeys: numberCell, failed: numberCell });
}
