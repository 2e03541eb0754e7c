import type { Sql } from '../database/database.ts';
import type { Changed, LockedMessage, MessageChange } from './change-messages.ts';

/** Cancels what waits, retries, or queues behind a retrying message, as `cancel` in a transaction does. */
export const cancelChange: MessageChange<'canceled'> = { action: 'cancel', apply: cancelLocked };

/** The answer `canceled` also for messages that were canceled before. */
export async function cancelLocked(
  sql: Sql,
  rows: readonly LockedMessage[],
): Promise<readonly Changed<'canceled'>[]> {
  return sql.query<Changed<'canceled'>>(
    `select x.id, 'canceled' as result
     from unnest($1::uuid[], $2::text[]) as x(id, topic) where outbox.cancel(x.topic, null, x.id) = 'canceled'`,
    [rows.map(({ id }) => id), rows.map(({ topic }) => topic)],
  );
}
