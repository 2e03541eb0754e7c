import { numberCell, readRow } from '../database/answers.ts';
import type { Sql } from '../database/database.ts';

/** Number of messages that are parked for a key, counted up to `most`. */
export async function countQueue(
  sql: Sql,
  group: string,
  topic: string,
  key: string,
  most: number,
): Promise<number> {
  const rows = await sql.query<object>('select outbox.count_queue($1, $2, $3, $4::integer) as count', [
    group,
    topic,
    key,
    most,
  ]);
  return readRow(rows, { count: numberCell }).count;
}
