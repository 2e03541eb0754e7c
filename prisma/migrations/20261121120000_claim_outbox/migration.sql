-- Makes the claim of a lane and the look of the watcher functions, so that their plans are made once per connection and
-- not at every call: planning took two thirds of the time of a small claim.
-- Locks: nothing; all objects are new.

-- A transport that an operator has paused, with all topics that use it. One without a row is not paused.
create table outbox.transport (
  name       text collate "C" primary key,
  paused     boolean not null default false,
  updated_at timestamptz not null default now()
);

-- True when an operator has paused the topic or its transport.
create function outbox.is_paused(p_topic text) returns boolean language sql stable
as $$
  select coalesce((select t.paused or coalesce(x.paused, false)
    from outbox.topic t left join outbox.transport x on x.name = t.transport where t.name = p_topic), false)
$$;

-- The next messages of a lane that its owner has not published yet; one row with null columns where there are none, or
-- where the topic is paused.
--
-- Why three branches and `position + 0`: an OR, or a late branch that walks the position index, costs 40 to 90 ms per
-- claim at a million rows instead of half a millisecond. And why the transactions that were running are joined one by
-- one: as `= any(…)` they become a filter over the whole lane while the table has not been analyzed yet.
-- Why one statement, and STABLE: what is claimable, who owns the lane and which keys are blocked must be seen by one
-- snapshot, that of the statement which calls this.
-- Why the settings: every branch must walk its index, whatever the statistics say; a plan that is not made for certain
-- values, with other ways forbidden, is the same at every claim.
create function outbox.claim(
  p_topic text, p_lane integer, p_limit integer, p_cursor bigint, p_snapshot pg_snapshot, p_owner uuid, p_bytes bigint,
  p_failed_blocks boolean, p_suspect pg_snapshot
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
  return query
  with own as materialized (
    select x.mine, x.paused, x.mine and not x.paused as may
    from (select exists (select from outbox.lane l where l.topic = p_topic and l.n = p_lane and l.owner = p_owner) as mine,
      outbox.is_paused(p_topic) as paused) x
  )
  select pg_current_snapshot()::text, (select mine from own), (select paused from own),
    coalesce(x.found = p_limit or x.found > count(x.id) over (), false),
    x.id, x.position, x.key, x.payload, x.content_type, x.headers, x.workflow_id,
    right(x.workflow_id, 45) = '/message/' || x.id::text,
    x.attempts, x.created_at,
    coalesce(pg_visible_in_snapshot(x.xid, p_suspect), false),
    case when (select exists (select from outbox.message b where b.topic = p_topic and b.lane = p_lane
        and b.state in ('retrying', 'held', 'failed') and (b.state <> 'failed' or p_failed_blocks)))
      then exists (select from outbox.message o where o.topic = p_topic and o.lane = p_lane and o.key = x.key
        and o.state in ('retrying', 'held', 'failed') and (o.state <> 'failed' or p_failed_blocks) and o.position < x.position)
      else false end
  from (select 1) one left join (
    select * from (
      select u.*, count(*) over () as found, sum(octet_length(u.payload)) over (order by u.position) - octet_length(u.payload) as before
      from (
        (select m.* from outbox.message m where m.topic = p_topic and m.lane = p_lane and m.state = 'ready'
           and m.position > p_cursor and (select may from own)
         order by m.position limit p_limit)
        union all
        (select m.* from outbox.message m where m.topic = p_topic and m.lane = p_lane and m.state = 'ready'
           and m.position + 0 <= p_cursor and m.xid >= pg_snapshot_xmax(p_snapshot) and (select may from own))
        union all
        (select m.* from pg_snapshot_xip(p_snapshot) running (xid) cross join lateral (
           select * from outbox.message r where r.topic = p_topic and r.lane = p_lane and r.state = 'ready' and r.xid = running.xid
             and r.position + 0 <= p_cursor offset 0) m
         where (select may from own))
        order by position limit p_limit
      ) u
    ) v where v.before < p_bytes
  ) x on true
  order by x.position;
end
$$;

-- What became visible since the snapshot of the last look, by lane, and how long until the next message is due; one row
-- with a null topic when there is no news. Null as snapshot: the first look, without news.
create function outbox.look(p_snapshot pg_snapshot) returns table (
  snapshot text, next_due_in_ms float8, topic text, lane integer, ready boolean, waiting boolean
) language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  return query
  select pg_current_snapshot()::text,
    (select ceil(extract(epoch from min(due_at) - outbox.clock()) * 1000)::float8 from outbox.message
     where state in ('waiting', 'retrying')),
    x.*
  from (select 1) one left join (
    select n.topic, n.lane, bool_or(n.state in ('ready', 'canceled')), bool_or(n.state in ('waiting', 'retrying'))
    from (
      select topic, lane, state from outbox.message where position > 0 and xid >= pg_snapshot_xmax(p_snapshot)
      union all
      select m.topic, m.lane, m.state from pg_snapshot_xip(p_snapshot) running (xid) cross join lateral (
        select * from outbox.message r where r.position > 0 and r.xid = running.xid offset 0) m
    ) n group by n.topic, n.lane
  ) x on true;
end
$$;
