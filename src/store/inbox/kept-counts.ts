import type { Sql } from '../database.ts';

/** What a group keeps. */
export interface KeptCounts {
  /** Messages that wait for a try, or behind one that does. */
  readonly parked: number;
  readonly parkedKeys: number;
  /** Messages that were given up and wait for a person. */
  readonly failed: number;
}

export async function countKept(sql: Sql, group: string): Promise<KeptCounts> {
  const [row] = await sql.query<KeptCounts>(
    `select
       (select count(*)::integer from outbox.parked p join outbox.parked_key k on k.id = p.key_id
        where k.consumer_group = $1 and p.state = 'parked') as parked,
       (select count(*)::integer from outbox.parked_key k where k.consumer_group = $1) as "parkedKeys",
       (select count(*)::integer from outbox.parked p where p.consumer_group = $1 and p.state = 'failed') as failed`,
    [group],
  );
  return row ?? { parked: 0, parkedKeys: 0, failed: 0 };
}
