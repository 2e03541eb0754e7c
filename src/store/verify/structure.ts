import type { Sql } from '../database/database.ts';
import { laneOfAnotherCluster } from '../installation/installation.ts';
import { countRows, type Finding, findViolations } from './finding.ts';

const triggers = [
  'message_transition',
  'message_failure',
  'message_due_by_expiry',
  'message_insert',
  'message_freed',
];

/** The indexes that uniqueness, order and speed depend on. */
const indexes = [
  'message_pkey',
  'message_lane_position',
  'message_lane_xid',
  'message_xid',
  'message_blocking',
  'message_blocked',
  'freed_key_pkey',
  'freed_key_xid',
  'freed_key_key',
  'message_failed',
  'message_unnotified',
  'message_due',
  'message_untold',
  'message_told',
  'message_open_key',
  'message_waiting_ref',
  'message_ref',
  'message_overdue',
  'message_unconfirmed',
  'message_listed',
  'message_supersedes',
  'message_finished',
  'message_expiring',
  'lane_pkey',
  'topic_pkey',
  'processed_pkey',
];

/** What is wrong with guards, indexes, leaves and lanes. */
const wrong = `
  select format('The trigger %s is %s.', t.name, case when g.tgname is null then 'missing' else 'disabled' end) as what,
    null as topic, t.name as id, null as key
  from unnest($1::text[]) t(name) left join pg_trigger g on g.tgname = t.name and g.tgrelid = 'outbox.message'::regclass
  where g.tgname is null or g.tgenabled not in ('O', 'A')
  union all
  select format('The index %s is %s.', x.name, case when i.indexrelid is null then 'missing' else 'invalid' end), null, x.name, null
  from unnest($2::text[]) x(name)
    left join pg_class c on c.relname = x.name and c.relnamespace = 'outbox'::regnamespace
    left join pg_index i on i.indexrelid = c.oid
  where i.indexrelid is null or not i.indisvalid or not i.indisready
  union all
  select 'The lane is behind its cursor without a snapshot.', l.topic, l.n::text, null from outbox.lane l
  where l.cursor > 0 and l.snapshot is null
  union all
  select 'The snapshot of the lane belongs to another cluster.', l.topic, l.n::text, null from outbox.lane l
  where ${laneOfAnotherCluster}
  union all
  select 'The cursor of the lane is beyond every position.', l.topic, l.n::text, null from outbox.lane l
  where l.cursor > (select last_value from outbox.message_position)
  union all
  select format('The function %s stores for another leaf of the log, or another installation.', p.proname), null, p.proname, null
  from pg_proc p cross join outbox.installation i cross join outbox.leaf f
  where p.pronamespace = 'outbox'::regnamespace and p.proname in ('store_one', 'store_many') and f.closed_at is null
    and (strpos(p.prosrc, 'into outbox.log_' || f.n || ' ') = 0 or strpos(p.prosrc, i.id::text) = 0)
  union all
  select 'The leaf of the log does not exist.', null, 'log_' || f.n, null from outbox.leaf f
  where to_regclass('outbox.log_' || f.n) is null
  union all
  select format('The leaf of the log is a child of %s, and its row says %s.', t.parents, t.said), null, 'log_' || t.n, null
  from (select f.n, string_agg(p.relname, ' and ' order by p.relname) as parents,
      case when f.archived_at is not null then 'log_history' when f.messages is not null then 'log_passed' else 'log' end as said
    from outbox.leaf f join pg_class c on c.relnamespace = 'outbox'::regnamespace and c.relname = 'log_' || f.n
      join pg_inherits i on i.inhrelid = c.oid join pg_class p on p.oid = i.inhparent
    group by f.n) t
  where t.parents <> t.said
  union all
  select 'The epoch of processed ids has no table.', null, 'processed_' || e.epoch, null from outbox.processed_epoch e
  where to_regclass('outbox.processed_' || e.epoch) is null
  union all
  select 'The function receive_one stores in another epoch of processed ids.', null, p.proname, null
  from pg_proc p cross join outbox.processed_epoch e
  where p.pronamespace = 'outbox'::regnamespace and p.proname = 'receive_one' and e.ended_at is null
    and strpos(p.prosrc, 'into outbox.processed_' || e.epoch || ' ') = 0
  union all
  select 'The lane does not exist.', t.name, s.lane::text, null
  from outbox.topic t cross join lateral generate_series(0, t.lanes - 1) s(lane)
  where not exists (select from outbox.lane l where l.topic = t.name and l.n = s.lane)`;

/** I9, what keeps states legal: guards exist and are enabled, indexes are valid, and leaves and lanes are consistent. */
export async function verifyStructure(sql: Sql): Promise<Finding> {
  const found = await findViolations(sql, wrong, [triggers, indexes]);
  const lanes = await countRows(sql, 'select count(*)::integer as count from outbox.lane');
  const leaves = await countRows(sql, 'select count(*)::integer as count from outbox.leaf');
  return { checked: triggers.length + indexes.length + leaves + lanes, ...found, notes: {} };
}
