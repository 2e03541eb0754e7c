-- A transaction of the inbox waits for nobody, and for no statement, longer than it may take itself.
-- Locks: the epochs of processed ids against being begun and dropped, for a moment.

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
