import type { Sql } from '../database.ts';

/**
 * Claims a message for a consumer group inside the transaction of its effects.
 *
 * A concurrent transaction with the same message waits here until this one ends.
 *
 * @returns `false` when the message was processed before: its effects are committed.
 */
export async function markProcessed(
  sql: Sql,
  group: string,
  messageId: string,
  topic: string | null,
): Promise<boolean> {
  const rows = await sql.query(
    `insert into outbox.processed (consumer_group, message_id, topic) values ($1, $2, $3)
     on conflict do nothing returning 1`,
    [group, messageId, topic],
  );
  return rows.length > 0;
}

/** Takes the claim back inside the same transaction, so that nothing of it is left if that one commits after all. */
export async function forgetProcessed(sql: Sql, group: string, messageId: string): Promise<void> {
  await sql.query('delete from outbox.processed where consumer_group = $1 and message_id = $2', [
    group,
    messageId,
  ]);
}
