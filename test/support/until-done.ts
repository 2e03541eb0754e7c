import type { Sql } from '../../src/store/database.ts';
import { until } from './until.ts';

/** Waits until no message waits, is ready, held or retrying: each has come to an end. */
export async function untilDone(sql: Sql, withinMs = 150_000): Promise<void> {
  const open = `select from outbox.message_view where state in ('waiting', 'ready', 'held', 'retrying') limit 1`;
  await until(async () => (await sql.query(open)).length === 0, withinMs);
}
