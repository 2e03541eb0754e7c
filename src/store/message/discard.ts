import type { MessageChange } from './change-messages.ts';

/** Ends failed messages for good. Keys that they held (`exhausted: 'hold-key'`) are free again. */
export const discardChange: MessageChange<'discarded'> = {
  action: 'discard',
  apply: async (sql, rows) => {
    const changed = await sql.query<{ id: string }>(
      `update outbox.message m set state = 'discarded', updated_at = outbox.clock()
       where m.id = any($1::uuid[]) and m.state::text = 'failed' returning m.id`,
      [rows.map(({ id }) => id)],
    );
    const attempts = new Map(rows.map((row) => [row.id, row.attempts]));
    return changed.map(({ id }) => ({ id, result: 'discarded', details: { attempts: attempts.get(id) } }));
  },
};
