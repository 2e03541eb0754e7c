-- A failed message that holds its key is the first of its queue, whatever is done to those behind it. And nobody who is
-- frozen, or gone without a word, holds a lock of the inbox for longer than 30 s.
-- Locks: the epochs of processed ids against being begun and dropped; outbox.parked entirely, while an index over its rows
-- is built.

-- First, because who has it reads what is locked below.
select pg_advisory_xact_lock(hashtextextended('outbox.processed_epoch', 0));

-- Who has a key_id is in the queue of that key: parked, or failed and holding it.
drop index outbox.parked_queue;
create index parked_queue on outbox.parked (key_id, position) where key_id is not null;

-- Ends this transaction when it asks nothing for so long.
create function outbox.limit_idle() returns text language sql volatile
as $$ select set_config('idle_in_transaction_session_timeout', '30000', true) $$;

create or replace function outbox.may_keep_processed() returns boolean language sql volatile
as $$ select pg_try_advisory_xact_lock(hashtextextended('outbox.processed_epoch', 0)) and outbox.limit_idle() is not null $$;

-- As before. Also who was failed and holds its key has been parked, for those behind it.
create or replace function outbox.receive(p_group text, p_ids text[], p_topics text[], p_keys text[], p_idle_ms integer)
returns text[] language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
declare
  queued boolean[];
  noted text[];
begin
  perform pg_current_xact_id();
  -- A process that is frozen in its transaction would hold the locks of these ids until it thaws.
  perform set_config('idle_in_transaction_session_timeout', p_idle_ms::text, true);
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

-- As before. A failed message that holds nothing is in no queue, also when its key was parked a moment ago.
create or replace function outbox.park(p_group text, p_messages jsonb, p_retry_ms float8 default null) returns void language plpgsql
as $$
declare
  m jsonb;
  home uuid;
begin
  for m in select value from jsonb_array_elements(p_messages) loop
    home := null;
    if m ->> 'key' is not null then
      select k.id into home from outbox.parked_key k
      where k.consumer_group = p_group and k.topic = m ->> 'topic' and k.key = m ->> 'key' for key share;
    end if;
    if home is null and (m ->> 'state' = 'parked' or (m ->> 'hold')::boolean) then
      home := outbox.uuid_v7();
      insert into outbox.parked_key (id, consumer_group, topic, key, workflow_id, next_at)
      values (home, p_group, m ->> 'topic', m ->> 'key', outbox.parked_workflow_id(p_group, home),
        case when m ->> 'state' = 'failed' then 'infinity' else outbox.clock() + p_retry_ms * interval '1 ms' end);
    end if;
    insert into outbox.parked (consumer_group, message_id, state, key_id, topic, key, address, partition, "offset", wire, body,
      sent_at, attempts, reason, last_error)
    values (p_group, m ->> 'id', m ->> 'state',
      case when m ->> 'state' = 'parked' or (m ->> 'hold')::boolean then home end, m ->> 'topic', m ->> 'key', m ->> 'address', (m ->> 'partition')::integer,
      m ->> 'offset', m ->> 'wire', decode(m ->> 'body', 'base64'), (m ->> 'sentAt')::timestamptz,
      (m ->> 'attempts')::integer, m ->> 'reason', m ->> 'error');
  end loop;
end $$;

-- As before. A key that a failed message holds has a queue.
create or replace function outbox.end_key(p_id uuid) returns boolean language plpgsql
as $$
begin
  if exists (select from outbox.parked p where p.key_id = p_id limit 1) then return false; end if;
  perform from outbox.parked_key k where k.id = p_id for update skip locked;
  if not found or exists (select from outbox.parked p where p.key_id = p_id limit 1) then return false; end if;
  delete from outbox.parked_key k where k.id = p_id;
  return true;
end $$;

-- As before. When a failed message is the first, it holds the key.
create or replace function outbox.begin_try(p_id uuid, p_retry_ms float8[], p_hold boolean) returns outbox.try_answer
language plpgsql
as $$
declare
  k outbox.parked_key;
  m outbox.parked;
  answer outbox.try_answer;
begin
  perform outbox.limit_idle();
  select * into k from outbox.parked_key x where x.id = p_id for no key update skip locked;
  if not found then
    answer.kind := case when exists (select from outbox.parked_key x where x.id = p_id) then 'busy' else 'gone' end;
    return answer;
  end if;
  -- Handlers that began before the key came back do not know of it. None takes as long as this.
  if k.unseen_before is not null and outbox.clock() < k.parked_at + interval '30 s' then
    if k.unseen_before = outbox.not_yet_known() then
      update outbox.parked_key x set unseen_before = pg_current_xact_id() where x.id = p_id;
      answer.kind := 'busy';
      return answer;
    end if;
    if k.unseen_before >= pg_snapshot_xmin(pg_current_snapshot()) then
      answer.kind := 'busy';
      return answer;
    end if;
  end if;
  if k.next_at > outbox.clock() then
    answer.kind := case when k.next_at = 'infinity' then 'held' else 'wait' end;
    answer.wait_ms := case when k.next_at < 'infinity' then extract(epoch from k.next_at - outbox.clock()) * 1000 end;
    return answer;
  end if;
  select * into m from outbox.parked x where x.key_id = p_id order by x.position limit 1;
  if not found then
    answer.kind := case when outbox.end_key(p_id) then 'gone' else 'busy' end;
    return answer;
  end if;
  if m.state = 'failed' then
    update outbox.parked_key x set next_at = 'infinity' where x.id = p_id;
    answer.kind := 'held';
    return answer;
  end if;
  if m.attempts > cardinality(p_retry_ms) then
    answer.kind := outbox.give_up(m.consumer_group, m.message_id, 'killed', null, p_hold);
    answer.message_id := m.message_id;
    return answer;
  end if;
  update outbox.parked x set attempts = m.attempts + 1, updated_at = outbox.clock()
  where x.consumer_group = m.consumer_group and x.message_id = m.message_id;
  update outbox.parked_key x set next_at = outbox.clock()
    + coalesce(p_retry_ms[least(m.attempts + 1, cardinality(p_retry_ms))], 0) * interval '1 ms'
  where x.id = p_id;
  return ('try', null, m.message_id, m.topic, m.key, m.address, m.partition, m."offset", m.wire, encode(m.body, 'base64'), m.sent_at,
    m.attempts + 1)::outbox.try_answer;
end $$;

-- As before. Only the first of a queue holds its key.
create or replace function outbox.give_up(p_group text, p_message_id text, p_reason text, p_error text, p_hold boolean) returns text
language plpgsql
as $$
declare
  home uuid;
  place bigint;
  behind boolean;
begin
  update outbox.parked p set state = 'failed', reason = p_reason, last_error = coalesce(p_error, p.last_error),
    updated_at = outbox.clock()
  where p.consumer_group = p_group and p.message_id = p_message_id and p.state = 'parked'
  returning key_id, position into home, place;
  if home is null then return 'gone'; end if;
  if p_hold and exists (select from outbox.parked_key k where k.id = home and k.key is not null) then
    -- Behind one that was retried meanwhile it holds the key when it is its turn.
    behind := exists (select from outbox.parked p where p.key_id = home and p.position < place);
    update outbox.parked_key k set next_at = case when behind then outbox.clock() else 'infinity' end where k.id = home;
    return case when behind then 'more' else 'held' end;
  end if;
  update outbox.parked p set key_id = null where p.consumer_group = p_group and p.message_id = p_message_id;
  if outbox.end_key(home) then return 'gone'; end if;
  update outbox.parked_key k set next_at = outbox.clock() where k.id = home;
  return 'more';
end $$;

-- As before.
create or replace function outbox.fail_try(
  p_group text, p_message_id text, p_attempts integer, p_reason text, p_error text, p_final boolean, p_retry_ms float8[], p_hold boolean
) returns outbox.try_answer language plpgsql
as $$
declare
  answer outbox.try_answer;
  home uuid;
begin
  perform outbox.limit_idle();
  update outbox.parked p set reason = p_reason, last_error = p_error, updated_at = outbox.clock()
  where p.consumer_group = p_group and p.message_id = p_message_id and p.state = 'parked' and p.attempts = p_attempts
  returning key_id into home;
  if home is null then
    answer.kind := 'busy';
    return answer;
  end if;
  if p_final or p_attempts > cardinality(p_retry_ms) then
    answer.kind := outbox.give_up(p_group, p_message_id, p_reason, p_error, p_hold);
    return answer;
  end if;
  update outbox.parked_key k set next_at = outbox.clock() + p_retry_ms[p_attempts] * interval '1 ms' where k.id = home
  returning p_retry_ms[p_attempts] into answer.wait_ms;
  answer.kind := 'wait';
  return answer;
end $$;

-- As before, and so are those below: behind a failed message that holds its key nobody is the first.
create or replace function outbox.lock_kept(
  p_group text, p_id text, out answer text, out home uuid, out is_first boolean, out message outbox.parked
) language plpgsql as $$
declare
  seen outbox.parked;
begin
  perform outbox.limit_idle();
  select * into seen from outbox.parked p where p.consumer_group = p_group and p.message_id = p_id;
  if not found then
    answer := case when exists (select from outbox.read_processed(p_group, array[p_id])) then 'handled' else 'unknown' end;
    return;
  end if;
  if seen.key_id is not null then
    perform from outbox.parked_key k where k.id = seen.key_id for no key update skip locked;
    if found then
      home := seen.key_id;
    elsif exists (select from outbox.parked_key k where k.id = seen.key_id) then
      answer := 'busy';
      return;
    end if;
  end if;
  select p.* into message from outbox.parked p
  where p.consumer_group = p_group and p.message_id = p_id and p.key_id is not distinct from seen.key_id
  for no key update skip locked;
  if not found then answer := 'busy'; end if;
  is_first := not exists (select from outbox.parked p
    where p.key_id = home and p.position < seen.position);
end $$;

create or replace function outbox.go_on(p_id uuid, p_now boolean) returns void language plpgsql as $$
declare
  v_empty boolean := not exists (select from outbox.parked p where p.key_id = p_id);
begin
  if v_empty then
    perform from outbox.parked_key k where k.id = p_id for update skip locked;
    if found and outbox.end_key(p_id) then return; end if;
  end if;
  if v_empty or p_now then
    -- Its workflow may sleep until a later time, and is replaced; one that was not started yet is started at once.
    update outbox.parked_key k set next_at = outbox.clock(), told_at = '-infinity'
    where k.id = p_id and (k.told_at is not null or k.next_at > outbox.clock());
  end if;
end $$;

create or replace function outbox.retry_kept(p_group text, p_id text, out result text, out details jsonb) language plpgsql as $$
declare
  l record;
  v_home uuid;
begin
  select * into l from outbox.lock_kept(p_group, p_id);
  result := case
    when l.answer is not null then l.answer
    when (l.message).state not in ('parked', 'failed') then 'too-late'
    when (l.message).state = 'parked' and not l.is_first then 'behind-key' end;
  if result is not null then return; end if;
  v_home := coalesce(l.home, outbox.bring_back_key(l.message));
  if v_home is null then
    result := 'busy';
    return;
  end if;
  details := jsonb_build_object('from', (l.message).state, 'attempts', (l.message).attempts);
  if (l.message).state = 'failed' then
    update outbox.parked p set state = 'parked', key_id = v_home, attempts = 0, updated_at = outbox.clock()
    where p.consumer_group = p_group and p.message_id = p_id;
  end if;
  perform outbox.go_on(v_home, not exists (select from outbox.parked p
    where p.key_id = v_home and p.position < (l.message).position));
  result := 'retried';
end $$;

create or replace function outbox.edit_kept(
  p_group text, p_id text, p_version timestamptz, p_copy text, p_wire text, p_body bytea, out result text, out details jsonb
) language plpgsql as $$
declare
  l record;
  m outbox.parked;
  v_home uuid;
begin
  select * into l from outbox.lock_kept(p_group, p_id);
  m := l.message;
  result := case
    when l.answer is not null then l.answer
    when m.state not in ('parked', 'failed') then 'too-late'
    when m.updated_at <> p_version then 'conflict'
    when m.state = 'parked' and not l.is_first then 'behind-key' end;
  if result is not null then return; end if;
  v_home := coalesce(l.home, outbox.bring_back_key(m));
  if v_home is null then
    result := 'busy';
    return;
  end if;
  update outbox.parked p set state = 'superseded', superseded_by = p_copy, key_id = null, updated_at = outbox.clock()
  where p.consumer_group = p_group and p.message_id = p_id;
  insert into outbox.parked (consumer_group, message_id, position, key_id, topic, key, address, partition, "offset", wire, body,
    sent_at, arrived_at, supersedes)
  overriding system value
  values (p_group, p_copy, m.position, v_home, m.topic, m.key, m.address, m.partition, m."offset", p_wire, p_body,
    m.sent_at, m.arrived_at, p_id);
  perform outbox.mark_processed(p_group, array[p_copy], array[m.topic]);
  perform outbox.go_on(v_home, not exists (select from outbox.parked p
    where p.key_id = v_home and p.position < m.position));
  result := 'edited';
  details := jsonb_build_object('copy', p_copy, 'from', m.state, 'attempts', m.attempts,
    'body', jsonb_build_object('before', encode(sha256(m.body), 'hex'), 'after', encode(sha256(p_body), 'hex')),
    'wire', jsonb_build_object('before', outbox.sha256(m.wire), 'after', outbox.sha256(p_wire)));
end $$;

-- Once more, now that no older outbox.roll_processed is at work: it would have begun an epoch without writing this.
select outbox.write_receive_one(outbox.current_epoch());
