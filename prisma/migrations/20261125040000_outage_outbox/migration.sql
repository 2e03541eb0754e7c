-- A transaction of the inbox waits for nobody, and for no statement, longer than it may take itself; and the change of epochs
-- does not stall consumers whose handlers are slow.
-- Locks: the epochs of processed ids against being begun and dropped; outbox.processed_epoch entirely, once open handlers of
-- batches have ended. Both for a moment.

-- First, because who has it writes what is written anew below.
select pg_advisory_xact_lock(hashtextextended('outbox.processed_epoch', 0));

-- Has the server end what the client gives up: this transaction when it asks nothing for p_idle_ms, because a process that is
-- frozen would hold its locks until it thaws; each wait for a lock, and each later statement, after p_limit_ms. A client
-- queues its ROLLBACK behind the statement that waits, so without an end of that one the connection stays taken. Null: as
-- the session has it.
create function outbox.limit_transaction(p_idle_ms integer, p_limit_ms integer) returns text language sql volatile
as $$
  select set_config('idle_in_transaction_session_timeout', p_idle_ms::text, true)
    || set_config('lock_timeout', p_limit_ms::text, true) || set_config('statement_timeout', p_limit_ms::text, true)
$$;

-- The same for transactions in which no handler runs.
create or replace function outbox.limit_idle() returns text language sql volatile
as $$ select outbox.limit_transaction(30000, 30000) || set_config('lock_timeout', '5000', true) $$;

-- As before, with limits. Without the last one, as earlier versions call it, only an idle transaction is ended.
drop function outbox.receive(text, text[], text[], text[], integer);
create function outbox.receive(
  p_group text, p_ids text[], p_topics text[], p_keys text[], p_idle_ms integer, p_limit_ms integer default null
) returns text[] language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
declare
  queued boolean[];
  noted text[];
begin
  perform pg_current_xact_id();
  perform outbox.limit_transaction(p_idle_ms, p_limit_ms);
  if exists (select from outbox.parked_key k where k.consumer_group = p_group limit 1) then
    if p_keys is null then return null; end if;
    with locked as materialized (
      select k.topic, k.key from outbox.parked_key k
      where k.consumer_group = p_group
        and k.id = any(array(
          select f.id from (select distinct coalesce(u.topic, p_topics[1]) as topic, u.key
              from unnest(p_topics, p_keys) u (topic, key)) d,
            lateral (select x.id from outbox.parked_key x
              where x.consumer_group = p_group and x.topic = d.topic and x.key = d.key) f))
      order by k.id for key share
    )
    select array_agg(exists (select from locked l where l.topic = coalesce(u.topic, p_topics[1]) and l.key = u.key) order by u.n)
    into queued from unnest(p_topics, p_keys) with ordinality u (topic, key, n);
  end if;
  noted := array(select outbox.mark_processed(p_group, p_ids, p_topics));
  if cardinality(noted) = cardinality(p_ids) and (queued is null or not true = any(queued)) then return '{}'; end if;
  -- Somebody has parked one of these after we looked at the keys: those behind it must not overtake it.
  if cardinality(p_ids) > 1 and exists (
    select from unnest(p_ids) with ordinality u (id, n)
    join outbox.parked p on p.consumer_group = p_group and p.message_id = u.id and p.key_id is not null and p.key is not null
    where not coalesce(queued[u.n], false)
  ) then
    raise exception 'outbox: a key of this batch has just been parked' using errcode = 'serialization_failure';
  end if;
  return array(
    select case
      when u.id = any(noted) and u.first then case when queued[u.n] then 'queued' else 'new' end
      when exists (select from outbox.parked p where p.consumer_group = p_group and p.message_id = u.id
        and p.state in ('parked', 'failed')) then 'parked'
      else 'processed' end
    from (select x.id, x.n, row_number() over (partition by x.id order by x.n) = 1 as first
      from unnest(p_ids) with ordinality x (id, n)) u
    order by u.n);
end $$;

-- As before, with limits.
create or replace function outbox.write_receive_one(p_epoch bigint) returns void language plpgsql volatile
as $write$
begin
  execute format($function$
create or replace function outbox.receive_one(
  p_group text, p_id text, p_topic text, p_idle_ms integer, p_limit_ms integer default null
) returns boolean
language plpgsql volatile
set enable_seqscan = off
as $body$
declare
  v_xid xid8 := pg_current_xact_id();
  -- As outbox.limit_transaction, whose call would cost more.
  v_limits text := set_config('idle_in_transaction_session_timeout', p_idle_ms::text, true)
    || set_config('lock_timeout', p_limit_ms::text, true) || set_config('statement_timeout', p_limit_ms::text, true);
begin
  if exists (select from outbox.parked_key k where k.consumer_group = p_group) then return null; end if;
  %s
  insert into outbox.%I (epoch, consumer_group, message_id, topic) values (%s, p_group, p_id, p_topic)
  on conflict do nothing;
  return case when found then true end;
end $body$
$function$,
    -- No id comes into an epoch that has ended, and none is made before the current one.
    case when exists (select from outbox.processed_epoch e where e.epoch < p_epoch) then format(
      'if exists (select from outbox.processed o
         where o.consumer_group = p_group and o.message_id = p_id and o.epoch < %s limit 1) then return null; end if;',
      p_epoch) end,
    'processed_' || p_epoch, p_epoch);
end
$write$;

drop function outbox.receive_one(text, text, text, integer);
select outbox.write_receive_one(outbox.current_epoch());

-- A change of epochs keeps handlers waiting for as long as it waits for those that are open. So it is tried once a minute in
-- the whole database, however many keepers there are, and each time with more patience.
alter table outbox.processed_epoch add column tries integer not null default 0, add column tried_at timestamptz;

-- Counts a try to end or drop this epoch. How long it may wait: twice as long as the one before, 5 s at most; null: the last
-- try is not p_pause_ms ago.
create function outbox.begin_epoch_change(p_old outbox.processed_epoch, p_patience_ms integer, p_pause_ms integer) returns integer
language plpgsql volatile
as $$
begin
  if p_old.tried_at > clock_timestamp() - p_pause_ms * interval '1 ms' then return null; end if;
  update outbox.processed_epoch e set tries = e.tries + 1, tried_at = clock_timestamp() where e.epoch = p_old.epoch;
  return greatest(p_patience_ms, least(p_patience_ms * 2 ^ least(p_old.tries, 10), 5000));
end
$$;

-- As before, paced.
drop function outbox.roll_processed(bigint, integer);
create function outbox.roll_processed(p_epoch_ms bigint, p_patience_ms integer, p_pause_ms integer default 60000) returns text
language plpgsql volatile
as $$
declare
  v_ended outbox.processed_epoch;
  v_name text;
  v_now timestamptz;
  v_before text := current_setting('lock_timeout');
  v_patience integer;
begin
  if not outbox.may_keep_processed() then return 'busy'; end if;
  select * into strict v_ended from outbox.processed_epoch e where e.ended_at is null;
  if v_ended.begun_at > outbox.clock() - p_epoch_ms * interval '1 ms' then return 'young'; end if;
  if not exists (select from outbox.processed p where p.epoch = v_ended.epoch) then
    -- Nothing to part from: an outbox without consumers makes no partitions.
    update outbox.processed_epoch e set begun_at = outbox.clock() where e.epoch = v_ended.epoch;
    return 'young';
  end if;
  v_patience := outbox.begin_epoch_change(v_ended, p_patience_ms, p_pause_ms);
  if v_patience is null then return 'busy'; end if;
  begin
    v_name := 'processed_' || v_ended.epoch + 1;
    perform set_config('lock_timeout', v_patience || 'ms', true);
    execute format('create table outbox.%I (like outbox.processed including all)', v_name);
    execute format('alter table outbox.processed attach partition outbox.%I for values in (%s)', v_name, v_ended.epoch + 1);
    lock table only outbox.processed in share row exclusive mode;
    -- This waits for those who hold the partition alone.
    execute format('create trigger ended before insert on outbox.%I for each row execute function outbox.refuse_ended_epoch()',
      'processed_' || v_ended.epoch);
    -- Not when this transaction began: handlers that were waited for since then have ids in it.
    v_now := outbox.clock() + (clock_timestamp() - now());
    update outbox.processed_epoch e set ended_at = v_now, tries = 0, tried_at = null where e.epoch = v_ended.epoch;
    insert into outbox.processed_epoch (epoch, begun_at) values (v_ended.epoch + 1, v_now);
    perform outbox.write_receive_one(v_ended.epoch + 1);
    perform set_config('lock_timeout', v_before, true);
    return 'rolled';
  exception when lock_not_available or deadlock_detected then
    return 'busy';
  end;
end
$$;

-- As before, paced.
drop function outbox.drop_processed(bigint, integer);
create function outbox.drop_processed(p_epoch bigint, p_patience_ms integer, p_pause_ms integer default 60000) returns boolean language plpgsql volatile
as $$
declare
  v_before text := current_setting('lock_timeout');
  v_old outbox.processed_epoch;
  v_patience integer;
begin
  if not outbox.may_keep_processed() then return false; end if;
  select * into v_old from outbox.processed_epoch e
  where e.epoch = p_epoch and e.live_done and e.kept_done and e.ended_at is not null;
  if not found then return false; end if;
  v_patience := outbox.begin_epoch_change(v_old, p_patience_ms, p_pause_ms);
  if v_patience is null then return false; end if;
  begin
    perform set_config('lock_timeout', v_patience || 'ms', true);
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
