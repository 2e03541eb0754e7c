import type { Sql } from '../database/database.ts';
import { countRows, type Finding, findViolations } from './finding.ts';

/**
 * First records of messages with a key, and what the log has of their key before them in the same partition.
 *
 * `committed_by`: when it was certainly committed. Commit times are not stored, so that is the first failed attempt to
 * deliver it, or, for an undelayed message, its creation plus the longest transaction. Null: unknown.
 */
const arrivals = `
  with arrival as (
    select m.id, m.topic, m.key, m.position, m.created_at, f.partition, f."offset", m.due_at is null as undelayed,
      least(a.first_at, case when m.due_at is null then m.created_at + $1::float8 * interval '1 ms' end) as committed_by,
      m.supersedes is not null or exists (
        select from outbox.audit u where u.message_id = m.id and u.action = 'retry') as overtaken
    from verify_first f
    join outbox.message_all m on m.id = f.id and m.key is not null
    join verify_topic t on t.topic = m.topic and m.created_at >= t.since
    left join lateral (select min(a.at) as first_at from outbox.attempt a
      where a.message_id = m.id and a.outcome <> 'acknowledged') a on true
  ), ranked as (
    select *, max(position) over before as highest, max(created_at) over before as youngest,
      max(position) filter (where undelayed) over (partition by topic, key, partition, created_at order by "offset"
        rows between unbounded preceding and 1 preceding) as highest_sibling
    from arrival
    window before as (partition by topic, key, partition order by "offset" rows between unbounded preceding and 1 preceding)
  )`;

const proven = '(youngest > committed_by or undelayed and highest_sibling > position)';

/**
 * I3, order per key: of two messages of one (topic, key), one that was sent after the other had committed appears after
 * it.
 *
 * A violation is an inversion for which that is certain: both were sent by one statement; or the later one was created after
 * an attempt to deliver the earlier one had failed, or more than `longestTransactionMs` after the earlier one was created.
 * Other inversions of positions may stem from overlapping transactions, for which no order is promised: they are counted as
 * undecided. Messages that an operator retried or edited may be overtaken.
 *
 * A key in several partitions is a violation, too, unless the audit contains a change of the partitions.
 */
export async function verifyOrder(sql: Sql, longestTransactionMs: number): Promise<Finding> {
  const found = await findViolations(
    sql,
    `${arrivals}
     select 'A later message of its key is before it in the log.' as what, topic, id, key from ranked
     where not overtaken and ${proven}
     union all
     select format('The key lies in %s partitions.', count(distinct partition)), topic, min(id::text)::uuid, key from arrival x
     where not exists (select from outbox.audit u where u.topic = x.topic and u.action = 'partitions')
     group by topic, key having count(distinct partition) > 1`,
    [longestTransactionMs],
  );
  const checked = await countRows(sql, `${arrivals} select count(*)::integer as count from arrival`, [
    longestTransactionMs,
  ]);
  const undecided = await countRows(
    sql,
    `${arrivals} select count(*)::integer as count from ranked
     where highest > position and not overtaken and coalesce(not ${proven}, true)`,
    [longestTransactionMs],
  );
  return { checked, ...found, notes: { undecided } };
}
