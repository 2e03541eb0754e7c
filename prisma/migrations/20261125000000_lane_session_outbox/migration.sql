-- Ties a lane to the life of the server in which it was taken, so that an owner's progress never outlives a failover or a
-- crash, and to a database session of its owner's process, so that a process that died frees its lanes at once.
-- Locks: "outbox.lane" for the moment of adding two columns, which rewrites nothing. Stop relays of the version before: they
-- write neither column, so their claims answer that the lane is not theirs.

alter table outbox.lane
  -- The life of the server in which the owner took the lane.
  add column incarnation timestamptz,
  -- Key of the advisory lock that the session of the owner's process holds; null: it has none, its lease alone counts.
  add column session bigint;

-- The life of this server: another one after every start, failover and crash. All statistics begin anew when a crash has
-- ended every session without ending the server.
create function outbox.incarnation() returns timestamptz language sql stable
as $$ select greatest(pg_postmaster_start_time(), pg_stat_get_bgwriter_stat_reset_time()) $$;

-- True while somebody holds the advisory lock of this key, that is: while the session that took it is there. Nobody else
-- ever takes it; the shared lock that proves the opposite ends with the transaction that asks.
create function outbox.session_lives(p_session bigint) returns boolean language sql volatile
as $$ select not pg_try_advisory_xact_lock_shared(p_session) $$;

-- True when the lane is this owner's to claim from and to settle.
--
-- A new primary may lack the last commits of the old one, and a server may forget some in a crash. Positions and
-- transaction ids are given out again then, and an owner that went on would pass the messages that got them.
create function outbox.lane_owned(l outbox.lane, p_owner uuid) returns boolean language sql stable
as $$ select l.owner = p_owner and l.incarnation = outbox.incarnation() $$;

-- True while somebody has the lane; what a dead owner leaves is free.
--
-- A lease lasts ten seconds (src/store/lease.ts). One that ends later than that was given before the clock was set back.
-- Whoever lost a session may be back in a moment: for half a second after the last renewal nobody else takes the lane.
create function outbox.lane_held(l outbox.lane) returns boolean language sql volatile
as $$
  select coalesce(l.owner is not null
    and l.incarnation = outbox.incarnation()
    and l.alive_until between clock_timestamp() and clock_timestamp() + interval '20 seconds'
    and (l.session is null or l.alive_until > clock_timestamp() + interval '9.5 seconds' or outbox.session_lives(l.session)), false)
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
create or replace function outbox.claim(
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
  -- A standby names no running transactions in its snapshots: what commits later would count as passed.
  if pg_is_in_recovery() then
    raise exception 'outbox: a claim was sent to a standby' using errcode = 'read_only_sql_transaction',
      hint = 'Connect relays to the primary, and let no proxy send their queries elsewhere.';
  end if;
  return query
  with own as materialized (
    select x.mine, x.paused, x.mine and not x.paused as may
    from (select exists (select from outbox.lane l where l.topic = p_topic and l.n = p_lane and outbox.lane_owned(l, p_owner)) as mine,
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
