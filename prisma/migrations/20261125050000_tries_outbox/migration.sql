-- Tries of parked keys: many messages at once, given back uncounted, and ended at once when their process is dead.
-- Locks: outbox.parked_key and outbox.parked entirely, for a moment; the first while an index over its rows is built.
--
-- The functions of before stay for consumers of before.

alter table outbox.parked_key
  -- Number of the last try that was begun. It never falls, unlike the attempts of a message.
  add column tries integer not null default 0,
  -- The advisory lock of the process that has a try in hand: every connection on which it begins one holds a share of it.
  add column worker bigint,
  -- Of that try: since when, and its messages, by their positions.
  add column begun_at timestamptz,
  add column begun_from bigint not null default 0,
  add column begun_to bigint not null default 0,
  -- The queue begins behind this position, as far as is known: before it lie the entries of what was deleted.
  add column ended bigint not null default -1;
create index parked_key_worked on outbox.parked_key (consumer_group, worker) where worker is not null;

alter table outbox.parked
  -- How often its process died with it in hand, since its last try that ended otherwise. Such a message is suspect: it is
  -- tried alone, and no other suspect is in the same process meanwhile.
  add column kills integer not null default 0;

alter type outbox.try_answer add attribute number integer;

-- As before, from where the queue begins. An addition that committed late may lie before that, so the end is sure only
-- after a look at all.
create or replace function outbox.end_key(p_id uuid) returns boolean language plpgsql
set enable_seqscan = off
as $$
begin
  if exists (select from outbox.parked p where p.key_id = p_id
    and p.position > (select k.ended from outbox.parked_key k where k.id = p_id) limit 1) then return false; end if;
  if exists (select from outbox.parked p where p.key_id = p_id limit 1) then return false; end if;
  perform from outbox.parked_key k where k.id = p_id for update skip locked;
  if not found or exists (select from outbox.parked p where p.key_id = p_id limit 1) then return false; end if;
  delete from outbox.parked_key k where k.id = p_id;
  return true;
end $$;

-- As before. What a person brings back may lie before the beginning of the queue.
create or replace function outbox.go_on(p_id uuid, p_now boolean) returns void language plpgsql as $$
declare
  v_empty boolean := not exists (select from outbox.parked p where p.key_id = p_id);
begin
  if v_empty then
    perform from outbox.parked_key k where k.id = p_id for update skip locked;
    if found and outbox.end_key(p_id) then return; end if;
  end if;
  update outbox.parked_key k set ended = -1 where k.id = p_id;
  if v_empty or p_now then
    -- Its workflow may sleep until a later time, and is replaced; one that was not started yet is started at once.
    update outbox.parked_key k set next_at = outbox.clock(), told_at = '-infinity'
    where k.id = p_id and (k.told_at is not null or k.next_at > outbox.clock());
  end if;
end $$;

-- Ends the try of a locked key that its process did not end. Answers as outbox.give_up when its message was given up for
-- that, else null: the key may be tried now.
--
-- `p_dead`: the process is dead. Its try is not counted as an attempt, for the message may be innocent, but as a kill, and
-- from the second kill on they are limited. A restart of the server ends all connections, which tells nothing about processes.
create function outbox.bury_try(k outbox.parked_key, p_dead boolean, p_most_kills integer, p_hold boolean, out gave_up text, out message_id text)
language plpgsql
as $$
declare
  v_killed boolean := p_dead and k.begun_at > pg_postmaster_start_time();
  m outbox.parked;
begin
  update outbox.parked_key x set worker = null, tries = k.tries + 1, next_at = outbox.clock() where x.id = k.id;
  if k.begun_to > k.begun_from then
    -- Nobody knows which of them it was.
    if v_killed or not p_dead then
      update outbox.parked x set kills = greatest(x.kills, 1), updated_at = outbox.clock()
      where x.key_id = k.id and x.state = 'parked' and x.position between k.begun_from and k.begun_to;
    end if;
    return;
  end if;
  if not p_dead then return; end if;
  update outbox.parked x set attempts = greatest(x.attempts - 1, 0), kills = x.kills + v_killed::integer, updated_at = outbox.clock()
  where x.key_id = k.id and x.state = 'parked' and x.position = k.begun_from
  returning * into m;
  if v_killed and m.kills > 1 and m.kills >= p_most_kills then
    gave_up := outbox.give_up(m.consumer_group, m.message_id, 'killed', null, p_hold);
    message_id := m.message_id;
  end if;
end $$;

-- Ends the tries of a group whose processes are dead, and answers their keys, with the message that was given up for that.
-- Who is alive holds a share of its lock on a connection; PostgreSQL takes it back when the process dies. A server between
-- them that keeps connections (pgbouncer) hides that: such a try is overdue one day, as that of a frozen process is.
create function outbox.end_dead_tries(p_group text, p_worker bigint, p_most_kills integer, p_hold boolean)
returns table (key_id uuid, gave_up text) language plpgsql
set enable_seqscan = off
as $$
declare
  w bigint;
  k outbox.parked_key;
begin
  perform outbox.limit_idle();
  for w in
    select distinct x.worker from outbox.parked_key x
    where x.consumer_group = p_group and x.worker is not null and x.worker <> p_worker
  loop
    -- One who looks at the same time takes it for alive, and leaves it to us.
    continue when not pg_try_advisory_xact_lock(w);
    for k in
      select x.* from outbox.parked_key x where x.consumer_group = p_group and x.worker = w
      order by x.id for no key update skip locked
    loop
      key_id := k.id;
      select b.message_id into gave_up from outbox.bury_try(k, true, p_most_kills, p_hold) b;
      return next;
    end loop;
  end loop;
end $$;

-- Begins a try of the first message of a parked key, or of up to `p_most` from the first on, which must never have been
-- tried then. It counts from now on, that of many messages only when it ends.
--
-- 'suspect': the first message has been in hand when its process died, and may be begun with `p_alone` only.
create function outbox.begin_try(
  p_id uuid, p_retry_ms float8[], p_hold boolean, p_most_kills integer, p_worker bigint, p_most integer, p_alone boolean
) returns setof outbox.try_answer language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  k outbox.parked_key;
  m outbox.parked;
  answer outbox.try_answer;
  v_buried record;
  v_first outbox.parked;
  v_count integer := 0;
  v_bytes bigint := 0;
begin
  perform outbox.limit_idle();
  perform pg_try_advisory_lock_shared(p_worker);
  select * into k from outbox.parked_key x where x.id = p_id for no key update skip locked;
  if not found then
    answer.kind := case when exists (select from outbox.parked_key x where x.id = p_id) then 'busy' else 'gone' end;
    return next answer;
    return;
  end if;
  -- Handlers that began before the key came back do not know of it. None takes as long as this.
  if k.unseen_before is not null and outbox.clock() < k.parked_at + interval '30 s' then
    answer.kind := 'busy';
    if k.unseen_before = outbox.not_yet_known() then
      update outbox.parked_key x set unseen_before = pg_current_xact_id() where x.id = p_id;
      return next answer;
      return;
    end if;
    if k.unseen_before >= pg_snapshot_xmin(pg_current_snapshot()) then
      return next answer;
      return;
    end if;
  end if;
  if k.next_at > outbox.clock() then
    answer.kind := case when k.next_at = 'infinity' then 'held' else 'wait' end;
    answer.wait_ms := case when k.next_at < 'infinity' then extract(epoch from k.next_at - outbox.clock()) * 1000 end;
    return next answer;
    return;
  end if;
  if k.worker is not null then
    select * into v_buried from outbox.bury_try(k, k.worker <> p_worker and pg_try_advisory_xact_lock(k.worker), p_most_kills, p_hold);
    if v_buried.gave_up is not null then
      answer.kind := v_buried.gave_up;
      answer.message_id := v_buried.message_id;
      return next answer;
      return;
    end if;
    k.tries := k.tries + 1;
  end if;
  -- Twice: what was added late may lie before the place where the queue begins.
  for v_round in 1..2 loop
    for m in
      select * from outbox.parked x where x.key_id = p_id and x.position > k.ended order by x.position limit p_most
    loop
      if v_count = 0 then
        v_first := m;
        exit when m.state = 'failed' or m.attempts > cardinality(p_retry_ms) or (m.kills > 0 and not p_alone);
      else
        exit when m.state <> 'parked' or m.attempts > 0 or m.kills > 0;
        v_bytes := v_bytes + coalesce(octet_length(m.body), 0);
        exit when v_bytes > 1048576;
      end if;
      v_count := v_count + 1;
      k.begun_to := m.position;
      return next ('try', null, m.message_id, m.topic, m.key, m.address, m.partition, m."offset", m.wire, encode(m.body, 'base64'),
        m.sent_at, m.attempts + 1, k.tries + 1)::outbox.try_answer;
      exit when m.attempts > 0 or m.kills > 0;
    end loop;
    exit when v_first.position is not null or k.ended < 0;
    k.ended := -1;
  end loop;
  if v_count > 0 then
    if v_count = 1 then
      update outbox.parked x set attempts = v_first.attempts + 1, updated_at = outbox.clock()
      where x.consumer_group = v_first.consumer_group and x.message_id = v_first.message_id;
    end if;
    update outbox.parked_key x set tries = k.tries + 1, worker = p_worker, begun_at = clock_timestamp(),
      begun_from = v_first.position, begun_to = k.begun_to, ended = v_first.position - 1, next_at = outbox.clock()
      + coalesce(p_retry_ms[least(v_first.attempts + 1, cardinality(p_retry_ms))], 0) * interval '1 ms'
    where x.id = p_id;
    return;
  end if;
  if v_first.position is null then
    answer.kind := case when outbox.end_key(p_id) then 'gone' else 'busy' end;
  elsif v_first.state = 'failed' then
    update outbox.parked_key x set next_at = 'infinity' where x.id = p_id;
    answer.kind := 'held';
  elsif v_first.attempts > cardinality(p_retry_ms) then
    answer.kind := outbox.give_up(v_first.consumer_group, v_first.message_id, 'killed', null, p_hold);
    answer.message_id := v_first.message_id;
  else
    answer.kind := 'suspect';
  end if;
  return next answer;
end $$;

-- Takes part in a try that was begun, for the transaction of its effects; false when somebody has decided otherwise since,
-- or another try has overtaken it.
create function outbox.join_try(p_id uuid, p_group text, p_ids text[], p_number integer, p_worker bigint, p_idle_ms integer)
returns boolean language plpgsql
as $$
begin
  perform set_config('idle_in_transaction_session_timeout', p_idle_ms::text, true);
  perform pg_try_advisory_lock_shared(p_worker);
  perform from outbox.parked_key k where k.id = p_id and k.tries = p_number for no key update;
  return found and cardinality(p_ids) = (select count(*) from outbox.parked p
    where p.consumer_group = p_group and p.message_id = any(p_ids) and p.key_id = p_id and p.state = 'parked');
end $$;

-- Ends a try whose effects commit with it: 'gone' when the key is free again, 'more' when it has further messages.
create function outbox.end_try(p_id uuid, p_group text, p_ids text[]) returns text language plpgsql
as $$
begin
  delete from outbox.parked p where p.consumer_group = p_group and p.message_id = any(p_ids);
  -- Unless a person has brought back something meanwhile.
  update outbox.parked_key k set worker = null, next_at = outbox.clock(),
    ended = case when k.ended = k.begun_from - 1 then k.begun_to else k.ended end
  where k.id = p_id;
  return case when outbox.end_key(p_id) then 'gone' else 'more' end;
end $$;

-- Ends a try of one message that failed, its effects rolled back: 'wait' with the time of the next one, or as outbox.give_up.
create function outbox.fail_try(
  p_id uuid, p_group text, p_message_id text, p_attempts integer, p_number integer, p_reason text, p_error text, p_final boolean,
  p_retry_ms float8[], p_hold boolean
) returns outbox.try_answer language plpgsql
as $$
declare
  answer outbox.try_answer;
begin
  perform outbox.limit_idle();
  answer.kind := 'busy';
  perform from outbox.parked_key k where k.id = p_id and k.tries = p_number for no key update;
  if not found then return answer; end if;
  update outbox.parked p set reason = p_reason, last_error = p_error, kills = 0, updated_at = outbox.clock()
  where p.consumer_group = p_group and p.message_id = p_message_id and p.key_id = p_id and p.state = 'parked';
  if not found then return answer; end if;
  update outbox.parked_key k set worker = null, tries = k.tries + 1 where k.id = p_id;
  if p_final or p_attempts > cardinality(p_retry_ms) then
    answer.kind := outbox.give_up(p_group, p_message_id, p_reason, p_error, p_hold);
    return answer;
  end if;
  update outbox.parked_key k set next_at = outbox.clock() + p_retry_ms[p_attempts] * interval '1 ms' where k.id = p_id
  returning p_retry_ms[p_attempts] into answer.wait_ms;
  answer.kind := 'wait';
  return answer;
end $$;

-- Gives a try back that has come to nothing for reasons that are not its messages': no attempt is counted, and the next try
-- is due in `p_in_ms`. False when another try has overtaken it: nothing is changed then. Waits for who takes part in the try.
create function outbox.return_try(p_id uuid, p_group text, p_number integer, p_in_ms float8) returns boolean language plpgsql
as $$
declare
  k outbox.parked_key;
begin
  perform outbox.limit_idle();
  select * into k from outbox.parked_key x
  where x.id = p_id and x.consumer_group = p_group and x.tries = p_number for no key update;
  if not found then return false; end if;
  if k.begun_to = k.begun_from then
    update outbox.parked p set attempts = greatest(p.attempts - 1, 0), updated_at = outbox.clock()
    where p.key_id = p_id and p.state = 'parked' and p.position = k.begun_from;
  end if;
  -- Another number, so that it is given back once.
  update outbox.parked_key x set worker = null, tries = k.tries + 1, next_at = outbox.clock() + p_in_ms * interval '1 ms'
  where x.id = p_id;
  return true;
end $$;

-- How many messages are in the queue of a key, counted up to `p_most`.
create function outbox.count_queue(p_group text, p_topic text, p_key text, p_most integer) returns integer language sql stable
set enable_seqscan = off
set enable_bitmapscan = off
as $$
  select count(*)::integer from outbox.parked_key k, lateral (
    select from outbox.parked p where p.key_id = k.id and p.position > k.ended limit p_most) q
  where k.consumer_group = p_group and k.topic = p_topic and k.key = p_key
$$;

-- Whose turn it is to copy the failed messages of a group: one consumer at a time, or each would send every copy.
create table outbox.letter_turn (
  consumer_group text collate "C" primary key,
  owner          uuid not null,
  ends_at        timestamptz not null
);
