import type { MessageChange } from './change.ts';

/**
 * A new due time: a delay from now by the database's clock, an ISO time, or a shift of the present one (negative: earlier). A
 * time in the past means now.
 */
export type NewDue = { readonly afterMs: number } | { readonly at: string } | { readonly shiftMs: number };

/** `out-of-range`: later than the topic allows. `past-expiry`: it will have expired by then. */
export type Rescheduled = 'rescheduled' | 'out-of-range' | 'past-expiry';

/** Moves the due time of waiting messages. */
export function rescheduleChange(due: NewDue): MessageChange<Rescheduled> {
  return {
    action: 'reschedule',
    apply: async (sql, rows) => {
      const before = await dueTimes(rows.map(({ id }) => id));
      const answers = await sql.query<{ id: string; result: Rescheduled | 'too-late' }>(
        `select x.id, outbox.move_due(x.topic, null, x.id, $3::float8 * interval '1 ms',
           coalesce($4::text::timestamptz, m.due_at + $5::float8 * interval '1 ms')) as result
         from unnest($1::uuid[], $2::text[]) as x(id, topic) join only outbox.message m on m.id = x.id
         where m.state::text = 'waiting'`,
        [
          rows.map(({ id }) => id),
          rows.map(({ topic }) => topic),
          'afterMs' in due ? due.afterMs : null,
          'at' in due ? due.at : null,
          'shiftMs' in due ? due.shiftMs : null,
        ],
      );
      const after = await dueTimes(answers.map(({ id }) => id));
      return answers.flatMap(({ id, result }) =>
        result === 'too-late'
          ? []
          : [{ id, result, details: { from: before.get(id) ?? null, to: after.get(id) ?? null } }],
      );

      async function dueTimes(ids: readonly string[]): Promise<ReadonlyMap<string, Date | null>> {
        const found = await sql.query<{ id: string; dueAt: Date | null }>(
          `select m.id, m.due_at as "dueAt" from only outbox.message m where m.id = any($1::uuid[])`,
          [[...ids]],
        );
        return new Map(found.map(({ id, dueAt }) => [id, dueAt]));
      }
    },
  };
}
