import type { Sql } from '../database/database.ts';
import type { Changed, LockedMessage, MessageChange } from './change-messages.ts';

/** Cancels waiting, retrying and held messages, like `cancel` in a transaction. */
export const cancelChange: MessageChange<'canceled'> = { action: 'cancel', apply: cancelLocked };

/** Answers `canceled` also for messages that were already canceled. */
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
