-- Bounds what a statement of the relay reads by what it does, not by what has gathered in the table: what failed, what is
-- held or due at one instant, and what an old snapshot keeps from being vacuumed.
-- Locks: outbox.message entirely, while four indexes over its waiting, held, retrying and failed rows are built; the table
-- is read once for each (a second for a million rows in memory).

-- What is due at one instant is released in the order of positions, without being sorted.
drop index outbox.message_due;
create index message_due on outbox.message (due_at, position) where state in ('waiting', 'retrying');

-- What blocks a key, apart: failed messages are kept for ever, and block nothing under release-key. Those that are held are
-- walked from key to key.
drop index outbox.message_blocking;
create index message_blocking on outbox.message (topic, lane, key, position) where state in ('retrying', 'held');
create index message_held on outbox.message (topic, lane, key, position) where state = 'held';
create index message_failed on outbox.message (topic, lane, key, position) where state = 'failed';

-- Makes held messages of the lane ready whose key has no blocking message before them any more: `p_rows` at most, of the
-- first `p_keys` keys behind `p_after`, in order and key by key. Only the owner of the lane calls it. `held`: there are more,
-- or may be. `next`: to be handed over as `p_after`; an empty text at the end, which is also the start.
--
-- Why a walk from key to key: a key may have a hundred thousand held messages, and one look at what comes first says that
-- all of them are blocked. Why the settings: statistics of before the messages were held say that there are none.
create function outbox.release_held(
  p_topic text, p_lane integer, p_failed_blocks boolean, p_after text, p_keys integer, p_rows integer
) returns table (held boolean, released integer, next text) language plpgsql volatile
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  ids uuid[];
  keys text[];
  positions bigint[];
  befores text[];
  walked_to text;
  locked uuid[];
begin
  -- `walked_to`: null when the walk ended at the last free message that is wanted, and an empty text when it saw all keys.
  with recursive walked as (
    (select 1 as n, h.key, h.position, p_after collate "C" as before from outbox.message h
     where h.topic = p_topic and h.lane = p_lane and h.state = 'held' and h.key > p_after order by h.key, h.position limit 1)
    union all
    select w.n + 1, h.key, h.position, w.key from walked w cross join lateral (
      select x.key, x.position from outbox.message x
      where x.topic = p_topic and x.lane = p_lane and x.state = 'held' and x.key > w.key order by x.key, x.position limit 1) h
    where w.n < p_keys
  ), free as materialized (
    select f.id, w.key, f.position, w.before from walked w cross join lateral (
      select h.id, h.position from outbox.message h
      where h.topic = p_topic and h.lane = p_lane and h.state = 'held' and h.key = w.key
        and h.position < coalesce(case when p_failed_blocks then (select r.position from outbox.message r
          where r.topic = p_topic and r.lane = p_lane and r.state = 'failed' and r.key = w.key order by r.position limit 1) end,
          9223372036854775807)
      order by h.position limit p_rows) f
    -- What retries was claimed when nothing of its key was held before it.
    where (select r.position from outbox.message r
      where r.topic = p_topic and r.lane = p_lane and r.state in ('retrying', 'held') and r.state = 'retrying'
        and r.key = w.key and r.position < w.position order by r.position limit 1) is null
    limit p_rows
  )
  select array_agg(f.id), array_agg(f.key), array_agg(f.position), array_agg(f.before),
    case when count(*) < p_rows then (select case when count(*) = p_keys then max(w.key) else '' end from walked w) end
  into ids, keys, positions, befores, walked_to from free f;

  -- Found by their ids: `state::text` is no condition of a partial index.
  locked := array(select m.id from outbox.message m where m.id = any(ids) and m.state::text = 'held' for update skip locked);
  -- What somebody has locked, a cancel that is not committed yet, stays held together with its followers.
  if cardinality(locked) < cardinality(ids) then
    locked := array(
      select f.id from unnest(ids, keys, positions) f (id, key, position)
      where f.id = any(locked) and not exists (select from unnest(ids, keys, positions) o (id, key, position)
        where o.key = f.key and o.position < f.position and o.id <> all(locked)));
  end if;
  update outbox.message m set state = 'ready', xid = pg_current_xact_id(), updated_at = outbox.clock() where m.id = any(locked);
  get diagnostics released = row_count;
  if p_after = '' then
    -- Without a key nothing blocks, and nothing is held, unless a transport says so.
    update outbox.message m set state = 'ready', xid = pg_current_xact_id(), updated_at = outbox.clock()
    where m.id = any(array(select h.id from outbox.message h
      where h.topic = p_topic and h.lane = p_lane and h.state = 'held' and h.key is null limit p_rows for update skip locked));
  end if;

  held := true;
  if walked_to is not null then
    next := walked_to;
    if next = '' then
      held := exists (select from outbox.message h where h.topic = p_topic and h.lane = p_lane and h.state = 'held');
    end if;
  elsif ids[cardinality(ids)] = any(locked) then
    -- The last key may have more.
    next := befores[cardinality(befores)];
  else
    next := keys[cardinality(keys)];
  end if;
  return next;
end
$$;

-- True when the lane holds a message whose key nothing blocks any more: what outbox.release_held would release.
create function outbox.has_free_held(p_topic text, p_lane integer, p_failed_blocks boolean) returns boolean language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
begin
  return exists (
    with recursive walked as (
      (select h.key, h.position from outbox.message h
       where h.topic = p_topic and h.lane = p_lane and h.state = 'held' order by h.key, h.position limit 1)
      union all
      select h.key, h.position from walked w cross join lateral (
        select x.key, x.position from outbox.message x
        where x.topic = p_topic and x.lane = p_lane and x.state = 'held' and x.key > w.key order by x.key, x.position limit 1) h
    )
    select from walked w
    where (select r.position from outbox.message r
        where r.topic = p_topic and r.lane = p_lane and r.state in ('retrying', 'held') and r.state = 'retrying'
          and r.key = w.key and r.position < w.position order by r.position limit 1) is null
      and (not p_failed_blocks or (select r.position from outbox.message r
        where r.topic = p_topic and r.lane = p_lane and r.state = 'failed' and r.key = w.key and r.position < w.position
        order by r.position limit 1) is null)
    limit 1);
end
$$;

-- True when a claim would return a message of the lane, or a held one is free. A function for its settings: with statistics
-- of before the messages came, the table would be read from end to end.
create function outbox.has_work(p_lane outbox.lane, p_failed_blocks boolean) returns boolean language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
begin
  return (select m.id from outbox.message m where m.topic = p_lane.topic and m.lane = p_lane.n and m.state = 'ready'
      and m.position > p_lane.cursor order by m.position limit 1) is not null
    -- An order and a limit instead of exists: the planner guesses a third of the table and would read all of it.
    or (select m.id from outbox.message m where m.topic = p_lane.topic and m.lane = p_lane.n and m.state = 'ready'
      and m.position + 0 <= p_lane.cursor and m.xid >= pg_snapshot_xmax(p_lane.snapshot) order by m.xid limit 1) is not null
    or exists (select from pg_snapshot_xip(p_lane.snapshot) running (xid) cross join lateral (
      select from outbox.message m where m.topic = p_lane.topic and m.lane = p_lane.n and m.state = 'ready'
        and m.xid = running.xid and m.position + 0 <= p_lane.cursor offset 0) m)
    or outbox.has_free_held(p_lane.topic, p_lane.n, p_failed_blocks);
end
$$;

-- Releases what is overdue from `p_from` on, in the order of due times and positions, `p_limit` messages at most: those of
-- `p_punctual` topics as soon as they are due, others `p_grace` later. `next_from`: every message that this sweep could see
-- and that was due before it is released now, or locked by somebody.
create function outbox.sweep(p_punctual text[], p_limit integer, p_grace interval, p_from timestamptz)
returns table (released integer, next_from timestamptz) language plpgsql volatile
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
set jit = off
as $$
#variable_conflict use_column
begin
  return query
  with due as materialized (
    select m.id, m.position, m.due_at, m.state from outbox.message m
    where m.state in ('waiting', 'retrying') and m.due_at <= outbox.clock() and m.due_at >= coalesce(p_from, '-infinity')
      and (m.due_at <= outbox.clock() - p_grace or m.topic = any(p_punctual))
    order by m.due_at, m.position limit p_limit for update skip locked
  ), placed as materialized (
    select d.id, case when d.state = 'waiting' then nextval('outbox.message_position') else d.position end as position
    from (select * from due order by due_at, position) d
  ), freed as (
    update outbox.message m set state = 'ready', xid = pg_current_xact_id(), position = p.position, updated_at = outbox.clock()
    from placed p where m.id = p.id
    returning 1
  )
  select (select count(*)::integer from freed),
    -- A reschedule may be committed a moment after the time that it sets.
    least(outbox.clock() - greatest(p_grace, interval '1 second'), case when count(*) = p_limit then max(d.due_at) end)
  from due d;
end
$$;

-- What became visible since the snapshot of the last look, by lane, and how long until the next message is due; one row
-- with a null topic when there is no news. Null as snapshot: the first look, without news.
--
-- `p_from`: no message is due before it that the last look saw and nobody released; null: not known. `next_from` is for the
-- next sweep and look. What lies before it is released, but an old snapshot keeps its entries in the index, and whoever
-- begins at their start reads a million of them. What became visible since may be due before it, so the news is asked, too.
-- Left out is a message that a transaction moved to an earlier time and committed a second after that: the caller asks
-- without `p_from` now and then.
drop function outbox.look(pg_snapshot);
create function outbox.look(p_snapshot pg_snapshot, p_from timestamptz) returns table (
  snapshot text, next_due_in_ms float8, next_from timestamptz, topic text, lane integer, ready boolean, waiting boolean
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
    ceil(extract(epoch from least(one.due, min(x.due) over ()) - outbox.clock()) * 1000)::float8,
    least(one.due, min(x.due) over (), outbox.clock() - interval '1 second'),
    x.topic, x.lane, x.ready, x.waiting
  from (select (select min(due_at) from outbox.message
      where state in ('waiting', 'retrying') and due_at >= coalesce(p_from, '-infinity')) as due) one left join (
    select n.topic, n.lane, bool_or(n.state in ('ready', 'canceled')) as ready, bool_or(n.state in ('waiting', 'retrying')) as waiting,
      min(n.due_at) filter (where n.state in ('waiting', 'retrying')) as due
    from (
      select topic, lane, state, due_at from outbox.message where position > 0 and xid >= pg_snapshot_xmax(p_snapshot)
      union all
      select m.topic, m.lane, m.state, m.due_at from pg_snapshot_xip(p_snapshot) running (xid) cross join lateral (
        select * from outbox.message r where r.position > 0 and r.xid = running.xid offset 0) m
    ) n group by n.topic, n.lane
  ) x on true;
end
$$;

-- The first `p_limit` messages of a lane that its cursor and snapshot have not passed. A part of the queries that name it.
--
-- Why three branches and `position + 0`: an OR, or a late branch that walks the position index, costs 40 to 90 ms per
-- claim at a million rows instead of half a millisecond. And why the transactions that were running are joined one by
-- one: as `= any(…)` they become a filter over the whole lane while the table has not been analyzed yet.
create function outbox.claimable(p_topic text, p_lane integer, p_limit integer, p_cursor bigint, p_snapshot pg_snapshot)
returns setof outbox.message language sql stable
as $$
  (select m.* from outbox.message m where m.topic = p_topic and m.lane = p_lane and m.state = 'ready'
     and m.position > p_cursor
   order by m.position limit p_limit)
  union all
  (select m.* from outbox.message m where m.topic = p_topic and m.lane = p_lane and m.state = 'ready'
     and m.position + 0 <= p_cursor and m.xid >= pg_snapshot_xmax(p_snapshot))
  union all
  (select m.* from pg_snapshot_xip(p_snapshot) running (xid) cross join lateral (
     select * from outbox.message r where r.topic = p_topic and r.lane = p_lane and r.state = 'ready' and r.xid = running.xid
       and r.position + 0 <= p_cursor offset 0) m)
  order by position limit p_limit
$$;

-- The next messages of a lane that its owner has not published yet; one row with null columns where there are none, or
-- where the topic is paused.
--
-- Why one statement, and STABLE: what is claimable, who owns the lane and which keys are blocked must be seen by one
-- snapshot, that of the statement which calls this.
-- Why what blocks is looked for apart, only where something does, and once per key: a thousand messages of one key may be on
-- their way out of `held`, and an old snapshot keeps the hundred thousand before them in the index.
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
