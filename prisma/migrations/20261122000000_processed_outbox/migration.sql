-- Processed ids by epoch, so that those past their window are dropped in one go and not deleted row by row.
-- Locks: outbox.processed entirely, while a unique index over its rows is built (some seconds for a million rows);
-- handlers wait so long.

-- The stretches of time by which processed ids are kept together. Exactly one has not ended.
create table outbox.processed_epoch (
  epoch       bigint primary key check (epoch > 0),
  begun_at    timestamptz not null,
  -- Null: it is the current one, the only one into which ids are written.
  ended_at    timestamptz,
  -- Before it is dropped, ids are carried over: those of live messages, and those of messages that a consumer keeps.
  -- How far that is, and whether it has come to its end.
  live_to     uuid,
  live_done   boolean not null default false,
  kept_group  text collate "C",
  kept_id     text collate "C",
  kept_done   boolean not null default false
);
create unique index processed_epoch_current on outbox.processed_epoch ((true)) where ended_at is null;
insert into outbox.processed_epoch (epoch, begun_at) values (1, outbox.clock());

-- Which groups there are, and for how long each wants its processed ids kept; without a name: what the relay of this
-- database has all of them kept for.
create table outbox.consumer_group (
  consumer_group text collate "C" primary key,
  -- Null: for ever.
  window_ms      bigint check (window_ms > 0),
  seen_at        timestamptz not null
);

-- What was processed so far is the first epoch. No id was ever stored as parked.
alter table outbox.processed rename to processed_1;
alter table outbox.processed_1 drop constraint processed_pkey;
drop index outbox.processed_at;
alter table outbox.processed_1 drop column state;
alter table outbox.processed_1 add column epoch bigint not null default 1;
alter table outbox.processed_1 alter column epoch drop default;
alter table outbox.processed_1 add constraint processed_1_pkey primary key (consumer_group, message_id, epoch);

-- The epoch of ids that are written without one: by hand, and by consumers of an earlier version until they are restarted.
-- They do not look into older epochs, of which there is none before the first quarter of a window is over.
create function outbox.current_epoch() returns bigint language sql stable
as $$ select e.epoch from outbox.processed_epoch e where e.ended_at is null $$;

-- An id that is here is never handled again through the stream. Ids are unique per group across all epochs; within an
-- epoch the index sees to it, across epochs outbox.mark_processed and outbox.roll_processed together.
create table outbox.processed (
  epoch          bigint not null default outbox.current_epoch(),
  consumer_group text collate "C" not null,
  message_id     text collate "C" not null,
  topic          text collate "C",
  processed_at   timestamptz not null default now(),
  primary key (consumer_group, message_id, epoch)
) partition by list (epoch);
alter table outbox.processed attach partition outbox.processed_1 for values in (1);

-- Notes ids, in the transaction of their effects; answers those that are new. A concurrent transaction with one of them
-- waits for this one. An id that is given twice is new once. One topic stands for all of them.
--
-- Why the lock: it is the one that the insert takes anyway, but taken before the epoch is read. Whoever ends an epoch
-- waits for all who hold it, so what is read here stays true until the end of this transaction.
-- Why in order: two batches with the same ids wait for each other, but never in a circle.
-- Why a subquery for older epochs: it can only be run by index, once per id; epochs that are not older are left out
-- when the statement begins.
create function outbox.mark_processed(p_group text, p_ids text[], p_topics text[]) returns setof text
language plpgsql volatile
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_epoch bigint;
begin
  lock table only outbox.processed in row exclusive mode;
  select e.epoch into strict v_epoch from outbox.processed_epoch e where e.ended_at is null;
  -- Ids are looked for in older epochs only where there are any: that is an eighth of the work.
  if exists (select from outbox.processed_epoch e where e.epoch < v_epoch) then
    return query
      insert into outbox.processed as w (epoch, consumer_group, message_id, topic)
      select v_epoch, p_group, n.id, case when cardinality(p_topics) = 1 then p_topics[1] else n.topic end
      from unnest(p_ids, p_topics) n (id, topic)
      where (select true from outbox.processed o
        where o.consumer_group = p_group and o.message_id = n.id and o.epoch < v_epoch limit 1) is null
      order by n.id collate "C"
      on conflict do nothing
      returning w.message_id;
  else
    return query
      insert into outbox.processed as w (epoch, consumer_group, message_id, topic)
      select v_epoch, p_group, n.id, case when cardinality(p_topics) = 1 then p_topics[1] else n.topic end
      from unnest(p_ids, p_topics) n (id, topic)
      order by n.id collate "C"
      on conflict do nothing
      returning w.message_id;
  end if;
end
$$;

-- Those of the ids that are noted already.
create function outbox.read_processed(p_group text, p_ids text[]) returns setof text
language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
begin
  return query
    select n.id from unnest(p_ids) n (id)
    where (select true from outbox.processed o where o.consumer_group = p_group and o.message_id = n.id limit 1);
end
$$;

-- Serialises those who begin, carry over and drop epochs; false: another one is at it.
create function outbox.may_keep_processed() returns boolean language sql volatile
as $$ select pg_try_advisory_xact_lock(hashtextextended('outbox.processed_epoch', 0)) $$;

-- What stands in the way of writers of an epoch that has ended: a transaction with an old snapshot, which still takes it
-- for the current one. Told as the failure of serialization that it is.
create function outbox.refuse_ended_epoch() returns trigger language plpgsql
as $$
begin
  raise exception 'outbox: the epoch % of processed ids has ended since this transaction began', new.epoch
    using errcode = 'serialization_failure', hint = 'Run the transaction again.';
end
$$;

-- Begins a new epoch when the current one has lasted for p_epoch_ms. Answers 'rolled', 'young', or 'busy'.
--
-- The moment of change must have no transaction that wrote into the old epoch and is still open: one that writes into
-- the new epoch could not see its ids, and would not wait for it. So all writers are waited for, p_patience_ms at most;
-- handlers that begin in that time wait as long.
-- Locks: outbox.processed against writers, and the ended partition, which only a vacuum can be busy with then.
create function outbox.roll_processed(p_epoch_ms bigint, p_patience_ms integer) returns text language plpgsql volatile
as $$
declare
  v_ended outbox.processed_epoch;
  v_name text;
  v_now timestamptz;
  v_before text := current_setting('lock_timeout');
begin
  if not outbox.may_keep_processed() then return 'busy'; end if;
  select * into strict v_ended from outbox.processed_epoch e where e.ended_at is null;
  if v_ended.begun_at > outbox.clock() - p_epoch_ms * interval '1 ms' then return 'young'; end if;
  if not exists (select from outbox.processed p where p.epoch = v_ended.epoch) then
    -- Nothing to part from: an outbox without consumers makes no partitions.
    update outbox.processed_epoch e set begun_at = outbox.clock() where e.epoch = v_ended.epoch;
    return 'young';
  end if;
  begin
    v_name := 'processed_' || v_ended.epoch + 1;
    perform set_config('lock_timeout', p_patience_ms || 'ms', true);
    execute format('create table outbox.%I (like outbox.processed including all)', v_name);
    execute format('alter table outbox.processed attach partition outbox.%I for values in (%s)', v_name, v_ended.epoch + 1);
    lock table only outbox.processed in share row exclusive mode;
    -- Who has just left the table above may be a moment later in leaving this one.
    perform set_config('lock_timeout', '100ms', true);
    execute format('lock table outbox.%I in share row exclusive mode', 'processed_' || v_ended.epoch);
    execute format('create trigger ended before insert on outbox.%I for each row execute function outbox.refuse_ended_epoch()',
      'processed_' || v_ended.epoch);
    -- Not when this transaction began: handlers that were waited for since then have ids in it.
    v_now := outbox.clock() + (clock_timestamp() - now());
    update outbox.processed_epoch e set ended_at = v_now where e.epoch = v_ended.epoch;
    insert into outbox.processed_epoch (epoch, begun_at) values (v_ended.epoch + 1, v_now);
    perform set_config('lock_timeout', v_before, true);
    return 'rolled';
  exception when lock_not_available then
    return 'busy';
  end;
end
$$;

-- The current epoch, for somebody who writes into it; null: others are carrying over.
create function outbox.epoch_to_carry_to() returns bigint language plpgsql volatile
as $$
begin
  if not outbox.may_keep_processed() then return null; end if;
  lock table only outbox.processed in row exclusive mode;
  return (select e.epoch from outbox.processed_epoch e where e.ended_at is null);
end
$$;

-- Carries the ids of an ended epoch whose messages may still arrive again, because they are live in this database, over
-- into the current one: a page of live messages, p_limit at most. `complete`: all are over, or the epoch is gone; `busy`:
-- others are at it.
--
-- Why by messages: live ones are few in comparison, and those that were stored after the epoch cannot be in it (a day
-- is left for clocks). Messages leave the live table, and none comes back, so one walk is enough.
create function outbox.carry_live(p_epoch bigint, p_limit integer)
returns table (carried integer, complete boolean, busy boolean) language plpgsql volatile
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  v_epoch bigint := outbox.epoch_to_carry_to();
  v_old outbox.processed_epoch;
  v_read integer;
  v_last uuid;
begin
  select * into v_old from outbox.processed_epoch e where e.epoch = p_epoch and e.ended_at is not null;
  if v_epoch is null or not found or v_old.live_done then
    return query select 0, v_epoch is not null, v_epoch is null;
    return;
  end if;
  with recursive page as materialized (
    select m.id, m.created_at from outbox.message m
    where m.id > coalesce(v_old.live_to, '00000000-0000-0000-0000-000000000000') order by m.id limit p_limit
  ), present (name) as (
    (select p.consumer_group from outbox.processed p where p.epoch = p_epoch order by p.consumer_group limit 1)
    union all
    select (select p.consumer_group from outbox.processed p where p.epoch = p_epoch and p.consumer_group > g.name
      order by p.consumer_group limit 1) from present g where g.name is not null
  ), kept as (
    insert into outbox.processed as w (epoch, consumer_group, message_id, topic, processed_at)
    select v_epoch, p.consumer_group, p.message_id, p.topic, p.processed_at
    from page m cross join present g cross join lateral (
      select * from outbox.processed o
      where o.epoch = p_epoch and o.consumer_group = g.name and o.message_id = m.id::text offset 0) p
    where m.created_at < v_old.ended_at + interval '1 day' and g.name is not null
    order by p.consumer_group, p.message_id
    on conflict do nothing
    returning 1
  )
  select (select count(*) from kept), (select count(*) from page), (select m.id from page m order by m.id desc limit 1)
  into carried, v_read, v_last;
  complete := v_read < p_limit;
  busy := false;
  update outbox.processed_epoch e set live_to = coalesce(v_last, e.live_to), live_done = complete where e.epoch = p_epoch;
  return next;
end
$$;

-- The same for messages that a consumer keeps (outbox.parked), whatever has become of them: while the row is there, the
-- message must not be taken for a new one.
create function outbox.carry_kept(p_epoch bigint, p_limit integer)
returns table (carried integer, complete boolean, busy boolean) language plpgsql volatile
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  v_epoch bigint := outbox.epoch_to_carry_to();
  v_old outbox.processed_epoch;
  v_read integer;
begin
  select * into v_old from outbox.processed_epoch e where e.epoch = p_epoch and e.ended_at is not null;
  if v_epoch is null or not found or v_old.kept_done then
    return query select 0, v_epoch is not null, v_epoch is null;
    return;
  end if;
  with page as materialized (
    select k.consumer_group, k.message_id from outbox.parked k
    where (k.consumer_group, k.message_id) > (coalesce(v_old.kept_group, ''), coalesce(v_old.kept_id, ''))
    order by k.consumer_group, k.message_id limit p_limit
  ), kept as (
    insert into outbox.processed as w (epoch, consumer_group, message_id, topic, processed_at)
    select v_epoch, p.consumer_group, p.message_id, p.topic, p.processed_at
    from page k cross join lateral (
      select * from outbox.processed o
      where o.epoch = p_epoch and o.consumer_group = k.consumer_group and o.message_id = k.message_id offset 0) p
    order by p.consumer_group, p.message_id
    on conflict do nothing
    returning 1
  ), last as (
    select k.consumer_group, k.message_id from page k order by k.consumer_group desc, k.message_id desc limit 1
  )
  select (select count(*) from kept), (select count(*) from page),
    coalesce((select l.consumer_group from last l), v_old.kept_group), coalesce((select l.message_id from last l), v_old.kept_id)
  into carried, v_read, v_old.kept_group, v_old.kept_id;
  complete := v_read < p_limit;
  busy := false;
  update outbox.processed_epoch e set kept_group = v_old.kept_group, kept_id = v_old.kept_id, kept_done = complete
  where e.epoch = p_epoch;
  return next;
end
$$;

-- Drops an ended epoch whose ids have been carried over as far as they must stay. False: others are at it, or have open
-- transactions; those are waited for p_patience_ms at most.
-- Locks: outbox.processed entirely, for a moment.
create function outbox.drop_processed(p_epoch bigint, p_patience_ms integer) returns boolean language plpgsql volatile
as $$
declare
  v_before text := current_setting('lock_timeout');
begin
  if not outbox.may_keep_processed() then return false; end if;
  if not exists (select from outbox.processed_epoch e
    where e.epoch = p_epoch and e.live_done and e.kept_done and e.ended_at is not null) then return false; end if;
  begin
    perform set_config('lock_timeout', p_patience_ms || 'ms', true);
    lock table only outbox.processed in access exclusive mode;
    -- As above: the two locks are not left at the same time.
    perform set_config('lock_timeout', '100ms', true);
    execute format('lock table outbox.%I in access exclusive mode', 'processed_' || p_epoch);
    execute format('drop table outbox.%I', 'processed_' || p_epoch);
    delete from outbox.processed_epoch e where e.epoch = p_epoch;
    perform set_config('lock_timeout', v_before, true);
    return true;
  exception when lock_not_available then
    return false;
  end;
end
$$;
