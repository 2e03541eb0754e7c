import type { MessageChange } from './change-messages.ts';

/**
 * Makes failed and retrying messages ready now.
 *
 * They keep their positions, so they go before the later messages of their keys that are held behind them, and get new
 * transaction ids, so that the next claim reads them although the cursor has passed them. The tries of a failed message
 * start again; their number so far is in the audit. A message that may have been published stays marked.
 */
export const retryChange: MessageChange<'retried'> = {
  action: 'retry',
  apply: async (sql, rows) => {
    const changed = await sql.query<{ id: string }>(
      `update outbox.message m set state = 'ready', xid = pg_current_xact_id(), updated_at = outbox.clock(),
         attempts = case when m.state::text = 'failed' then 0 else m.attempts end,
         sends = case when m.state::text = 'failed' then 0 else m.sends end,
         due_at = least(m.due_at, outbox.clock()),
         maybe_published = m.maybe_published or m.published_at is not null,
         published_at = null, confirm_by = null, partition = null, "offset" = null
       where m.id = any($1::uuid[]) and m.state::text in ('failed', 'retrying')
       returning m.id`,
      [rows.map(({ id }) => id)],
    );
    const before = new Map(rows.map((row) => [row.id, row]));
    return changed.map(({ id }) => {
      const { state: from, attempts, sends } = before.get(id) ?? {};
      return { id, result: 'retried', details: { from, attempts, sends } };
    });
  },
};
