import type { Sql } from '../database/database.ts';
import { twinSeen } from '../installation/twin.ts';
import { countRows, type Finding, findViolations } from './finding.ts';

/** Illegal combinations of columns, as conditions on `outbox.message m`. */
const contradictions: readonly (readonly [condition: string, what: string])[] = [
  [`m.state in ('waiting', 'retrying') and m.due_at is null`, 'It waits for no time.'],
  [
    `m.state = 'waiting' and (m.attempts > 0 or m.sends > 0 or m.published_at is not null or m."offset" is not null)`,
    'It waits, and was sent.',
  ],
  [`m.state = 'retrying' and m.attempts = 0`, 'It retries, and nothing was tried.'],
  [
    `m.state in ('blocked', 'retrying') and m.published_at is not null and not m.maybe_published`,
    'It was published, and could be canceled.',
  ],
  [`m.state = 'published' and m.published_at is null and m.sends > 0`, 'It was published at no time.'],
  [`m.state = 'failed' and m.last_error is null`, 'It failed without an error.'],
  [`m.state = 'expired' and m.expires_at > m.updated_at`, 'It expired before its time.'],
  [`m.state = 'expired' and m.published_at is not null`, 'It expired, and was published.'],
  [`m.due_at > m.expires_at and m.published_at is null`, 'It is due after its expiry.'],
  [`m.position <= 0`, 'It has no position.'],
  [`m.tableoid = 'outbox.message'::regclass and m.workflow_id is null`, 'It has no workflow.'],
  [
    `m.xid >= pg_snapshot_xmax(pg_current_snapshot())`,
    'Its transaction id belongs to another cluster: the database must be adopted.',
  ],
  [
    `not starts_with(m.workflow_id, (select id::text from outbox.installation)) and m.state in ('waiting', 'ready', 'blocked', 'retrying')
      and not (m.state = 'ready' and outbox.is_passed(l.cursor, l.snapshot, l.late_cursor, l.late_snapshot, m.position, m.xid))`,
    'Its workflow belongs to another installation.',
  ],
  [
    `m.state = 'ready' and t.name is not null and l.topic is null`,
    'It is ready in a lane that does not exist.',
  ],
  [
    `m.state in ('retrying', 'blocked') and l.topic is not null and l.blocking_xid is null`,
    'Its lane says that no message of it is retrying or blocked.',
  ],
  [
    `m.state = 'failed' and l.topic is not null and l.failed_xid is null`,
    'Its lane says that no message of it is failed.',
  ],
  [
    `m.state in ('waiting', 'ready', 'blocked', 'retrying') and m.key is not null and t.name is not null and c.topic is null
      and m.lane <> outbox.lane_of(m.key, m.id, t.lanes)
      and not (m.state = 'ready' and outbox.is_passed(l.cursor, l.snapshot, l.late_cursor, l.late_snapshot, m.position, m.xid))`,
    'It does not lie in the lane of its key.',
  ],
  [
    `m.state = 'superseded' and not exists (select from outbox.message_all s where s.supersedes = m.id)`,
    'Nothing supersedes it.',
  ],
];

/** I9, only legal states: rows whose columns contradict each other. */
export async function verifyStates(sql: Sql): Promise<Finding> {
  const cases = contradictions.map(([condition, what]) => `when ${condition} then '${what}'`).join('\n');
  const found = await findViolations(
    sql,
    `select * from (
       select case ${cases} end as what, m.topic, m.id, m.key
       from outbox.message m
       left join outbox.topic t on t.name = m.topic
       left join outbox.lane l on l.topic = m.topic and l.n = m.lane
       left join outbox.topic_change c on c.topic = m.topic
       union all
       select 'It supersedes a message that another one supersedes too.', topic, id, key from (
         select *, count(*) over (partition by supersedes) as twice from outbox.message_all where supersedes is not null) s
       where twice > 1
       union all
       select 'Relays deliver from another running database as well: ' || (twin ->> 'place'), null, null, null
       from outbox.installation where ${twinSeen}) x
     where what is not null`,
  );
  const checked = await countRows(sql, 'select count(*)::integer as count from outbox.message');
  return { checked, ...found, notes: {} };
}
