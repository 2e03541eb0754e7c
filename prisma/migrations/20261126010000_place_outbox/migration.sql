-- Finds the row of a lane where its owner wrote it last, behind however many versions of it.
-- Locks: none beyond the moment in which the function is replaced.

drop function outbox.claim(text, integer, integer, bigint, pg_snapshot, uuid, bigint, boolean, pg_snapshot);
-- The next messages of a lane that its owner has not published yet; one row with null columns where there are none, or
-- where the topic is paused. `p_place`: where the lane's row was seen last; it is looked for there first, because by its key it
-- lies behind all versions that an old snapshot keeps.
--
-- Why one statement, and STABLE: what is claimable, who owns the lane and which keys are blocked must be seen by one
-- snapshot, that of the statement which calls this.
-- Why what blocks is looked for apart, only where something does, and once per key: a thousand messages of one key may be on
-- their way out of `held`, and an old snapshot keeps the hundred thousand before them in the index.
-- Why the settings: every branch must walk its index, whatever the statistics say; a plan that is not made for certain
-- values, with other ways forbidden, is the same at every claim.
create function outbox.claim(
  p_topic text, p_lane integer, p_limit integer, p_cursor bigint, p_snapshot pg_snapshot, p_owner uuid, p_bytes bigint,
  p_failed_blocks boolean, p_suspect pg_snapshot, p_place tid
) returns table (
  snapshot text, owned boolean, paused boolean, truncated boolean, id uuid, "position" bigint, key text, payload text, content_type text,
  headers jsonb, workflow_id text, own_workflow boolean, attempts integer, created_at timestamptz, suspect boolean,
  blocked boolean
) language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  -- A standby names no running transactions in its snapshots: what commits later would count as passed.
  if pg_is_in_recovery() then
    raise exception 'outbox: a claim was sent to a standby' using errcode = 'read_only_sql_transaction',
      hint = 'Connect relays to the primary, and let no proxy send their queries elsewhere.';
  end if;
  return query
  with own as materialized (
    select x.mine, x.paused, x.mine and not x.paused as may
    from (select
        exists (select from outbox.lane l where l.ctid = p_place and l.topic = p_topic and l.n = p_lane and outbox.lane_owned(l, p_owner))
        or exists (select from outbox.lane l where l.topic = p_topic and l.n = p_lane and outbox.lane_owned(l, p_owner)) as mine,
      outbox.is_paused(p_topic) as paused) x
  ), blocking as materialized (
    select exists (select from outbox.message b where b.topic = p_topic and b.lane = p_lane and b.state in ('retrying', 'held'))
      or p_failed_blocks and exists (select from outbox.message b where b.topic = p_topic and b.lane = p_lane and b.state = 'failed') as any
  ), shut as materialized (
    select k.id from (
      select f.id, f.position, min(f.blocker) over (partition by f.key) as blocker
      from (
        select p.id, p.key, p.position, case when row_number() over (partition by p.key order by p.position) = 1 then least(
            (select o.position from outbox.message o where o.topic = p_topic and o.lane = p_lane and o.key = p.key
               and o.state in ('retrying', 'held') order by o.position limit 1),
            case when p_failed_blocks then (select o.position from outbox.message o where o.topic = p_topic and o.lane = p_lane
               and o.key = p.key and o.state = 'failed' order by o.position limit 1) end) end as blocker
        from outbox.claimable(p_topic, p_lane, p_limit, p_cursor, p_snapshot) p where p.key is not null
      ) f
    ) k where k.blocker < k.position
  )
  select pg_current_snapshot()::text, (select mine from own), (select paused from own),
    coalesce(x.found = p_limit or x.found > count(x.id) over (), false),
    x.id, x.position, x.key, x.payload, x.content_type, x.headers, x.workflow_id,
    right(x.workflow_id, 45) = '/message/' || x.id::text,
    x.attempts, x.created_at,
    coalesce(pg_visible_in_snapshot(x.xid, p_suspect), false),
    case when x.key is not null and (select b.any from blocking b) then x.id in (select s.id from shut s) else false end
  from (select 1) one left join (
    select * from (
      select u.*, count(*) over () as found, sum(octet_length(u.payload)) over (order by u.position) - octet_length(u.payload) as before
      from outbox.claimable(p_topic, p_lane, p_limit, p_cursor, p_snapshot) u where (select may from own)
    ) v where v.before < p_bytes
  ) x on true
  order by x.position;
end
$$;
