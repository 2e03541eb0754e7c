import type { Sql } from '../database/database.ts';
import { countRows, type Finding, findViolations } from './finding.ts';

/** Published before the log was opened: passed by its lane, or according to its row, or in the history. */
const published = `
  select m.id, m.topic, m.key, m.created_at from outbox.message m join verify_lane l on l.topic = m.topic and l.n = m.lane
  where m.state = 'ready' and outbox.is_passed(l.cursor, l.snapshot, l.late_cursor, l.late_snapshot, m.position, m.xid)
  union all
  select m.id, m.topic, m.key, m.created_at from outbox.message m
  where m.state in ('published', 'confirmed') and coalesce(m.published_at, m.updated_at) <= outbox.clock()
  union all
  select h.id, h.topic, h.key, h.created_at from outbox.message_history h where h.state in ('published', 'confirmed')
  union all
  select h.id, h.topic, h.key, h.created_at from outbox.log_history h`;

const due = `from outbox.message_view v
  where (v.state in ('ready', 'blocked') or v.state in ('waiting', 'retrying') and v.due_at is not null)
    and coalesce(v.due_at, v.created_at) < outbox.clock() - $1::float8 * interval '1 ms'`;

/**
 * I1, no loss: published messages are in the log.
 *
 * Messages that have been due for longer than `graceMs` and are not published yet are late, not lost, and counted in the
 * notes.
 */
export async function verifyLoss(sql: Sql, graceMs: number): Promise<Finding> {
  const judged = `(${published}) p join verify_topic t on t.topic = p.topic`;
  const found = await findViolations(
    sql,
    `select 'Published, but not in the log.' as what, p.topic, p.id, p.key from ${judged}
     where p.created_at >= t.since and not exists (select from verify_first f where f.id = p.id)`,
  );
  const checked = await countRows(
    sql,
    `select count(*)::integer as count from ${judged} where p.created_at >= t.since`,
  );
  const notJudged = await countRows(
    sql,
    `select count(*)::integer as count from ${judged} where p.created_at < t.since`,
  );
  const late = await countRows(sql, `select count(*)::integer as count ${due}`, [graceMs]);
  return { checked, ...found, notes: { late, notJudged } };
}
