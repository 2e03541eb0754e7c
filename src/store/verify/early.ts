import type { Sql } from '../database/database.ts';
import { countRows, type Finding, findViolations } from './finding.ts';

/** Messages that waited and never failed: after a failure the due time is that of the last try. */
const delayed = `
  from outbox.message_all m join verify_first f on f.id = m.id
  where m.due_at is not null and m.attempts = 0 and m.state <> 'canceled'
    and not exists (select from outbox.attempt a where a.message_id = m.id and a.outcome <> 'acknowledged')
    and not exists (select from outbox.audit u where u.message_id = m.id and u.action = 'retry')`;

/**
 * I6, never early by the database's clock.
 *
 * For a message with a workflow of its own, the row has the time of publication by that clock. The log has times by the
 * clock of the broker or the sender, which may differ by `toleranceMs`.
 */
export async function verifyEarly(sql: Sql, toleranceMs: number): Promise<Finding> {
  const found = await findViolations(
    sql,
    `select * from (
       select case
           when m.published_at < m.due_at then 'Published before it was due, by the clock of the database.'
           when f.at < m.due_at - $1::float8 * interval '1 ms' then 'In the log before it was due.'
         end as what, m.topic, m.id, m.key ${delayed}) x
     where what is not null`,
    [toleranceMs],
  );
  const checked = await countRows(sql, `select count(*)::integer as count ${delayed}`);
  return { checked, ...found, notes: {} };
}
