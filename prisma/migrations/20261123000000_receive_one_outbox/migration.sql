-- outbox.receive_one names the partition of the current epoch of processed ids instead of looking for it, and is written
-- anew when an epoch ends: the look, and the way through the table above, were half of what it cost.
-- Locks: none.

-- Writes outbox.receive_one for ids of this epoch.
--
-- It is as outbox.receive, for one message of a group that has no parked key: true when it is new, and noted. Null: ask
-- outbox.receive, nothing is noted. Most transactions of a consumer begin with it, so it does nothing else, and with as few
-- statements as it can: each has a price here that shows at thousands per second.
--
-- A transaction that begins while the epoch ends may be refused, as in outbox.refuse_ended_epoch; that costs another try.
-- So may one that asks outbox.mark_processed after this, by a deadlock, where the end of the epoch waits for long.
create function outbox.write_receive_one(p_epoch bigint) returns void language plpgsql volatile
as $write$
begin
  execute format($function$
create or replace function outbox.receive_one(p_group text, p_id text, p_topic text, p_idle_ms integer) returns boolean
language plpgsql volatile
set enable_seqscan = off
as $body$
declare
  v_xid xid8 := pg_current_xact_id();
  v_idle text := set_config('idle_in_transaction_session_timeout', p_idle_ms::text, true);
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

select outbox.write_receive_one(outbox.current_epoch());

-- As before, and outbox.receive_one is written for the new epoch. Its writers hold the partition alone, so the ended one is
-- waited for as patiently as the table above.
create or replace function outbox.roll_processed(p_epoch_ms bigint, p_patience_ms integer) returns text
language plpgsql volatile
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
    -- This waits for those who hold the partition alone.
    execute format('create trigger ended before insert on outbox.%I for each row execute function outbox.refuse_ended_epoch()',
      'processed_' || v_ended.epoch);
    -- Not when this transaction began: handlers that were waited for since then have ids in it.
    v_now := outbox.clock() + (clock_timestamp() - now());
    update outbox.processed_epoch e set ended_at = v_now where e.epoch = v_ended.epoch;
    insert into outbox.processed_epoch (epoch, begun_at) values (v_ended.epoch + 1, v_now);
    perform outbox.write_receive_one(v_ended.epoch + 1);
    perform set_config('lock_timeout', v_before, true);
    return 'rolled';
  exception when lock_not_available or deadlock_detected then
    return 'busy';
  end;
end
$$;
