-- What a person may do with messages that a consumer keeps: retry, edit, discard.
-- Locks: outbox.parked against writers, while an index over its rows is built. All other objects are functions.

create index parked_listed on outbox.parked (consumer_group, position, message_id);

-- A kept message that an operator wants to change, locked behind its key, as everybody locks who changes the queue. Waits
-- for nobody. `answer` is null when it is locked, else 'unknown', 'handled' (it is no longer kept), or 'busy'.
create function outbox.lock_kept(
  p_group text, p_id text, out answer text, out home uuid, out is_first boolean, out message outbox.parked
) language plpgsql as $$
declare
  seen outbox.parked;
begin
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
    where p.key_id = home and p.state = 'parked' and p.position < seen.position);
end $$;

-- The parked key behind which a kept message goes on, locked: the one of its key, or a new one. Null: somebody has it, or
-- makes it at this moment.
create function outbox.bring_back_key(p_message outbox.parked) returns uuid language plpgsql as $$
declare
  found_id uuid;
  v_before text := current_setting('lock_timeout');
begin
  if p_message.key is not null then
    select k.id into found_id from outbox.parked_key k
    where k.consumer_group = p_message.consumer_group and k.topic = p_message.topic and k.key = p_message.key
    for no key update skip locked;
    if found then return found_id; end if;
  end if;
  begin
    -- Two who make the same key would wait for each other.
    perform set_config('lock_timeout', '10ms', true);
    found_id := outbox.uuid_v7();
    insert into outbox.parked_key (id, consumer_group, topic, key, workflow_id, next_at, unseen_before)
    values (found_id, p_message.consumer_group, p_message.topic, p_message.key,
      outbox.parked_workflow_id(p_message.consumer_group, found_id), outbox.clock(),
      case when p_message.key is not null then outbox.not_yet_known() end)
    on conflict do nothing
    returning id into found_id;
    perform set_config('lock_timeout', v_before, true);
    return found_id;
  exception when lock_not_available then
    return null;
  end;
end $$;

-- Lets a locked key go on after an operator has changed its queue: its first message now when `p_now`; and the key ends
-- with its queue. Who adds to it is not waited for: then it is left to the next try, which finds nothing and ends it.
create function outbox.go_on(p_id uuid, p_now boolean) returns void language plpgsql as $$
declare
  v_empty boolean := not exists (select from outbox.parked p where p.key_id = p_id and p.state = 'parked');
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

-- Lets a failed message be tried again, in its old place of the order; of a parked one, the next try is now.
create function outbox.retry_kept(p_group text, p_id text, out result text, out details jsonb) language plpgsql as $$
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
    where p.key_id = v_home and p.state = 'parked' and p.position < (l.message).position));
  result := 'retried';
end $$;

-- Ends a failed or parked message for good; its key goes on.
create function outbox.discard_kept(p_group text, p_id text, out result text, out details jsonb) language plpgsql as $$
declare
  l record;
begin
  select * into l from outbox.lock_kept(p_group, p_id);
  result := case
    when l.answer is not null then l.answer
    when (l.message).state not in ('parked', 'failed') then 'too-late' end;
  if result is not null then return; end if;
  update outbox.parked p set state = 'discarded', key_id = null, updated_at = outbox.clock()
  where p.consumer_group = p_group and p.message_id = p_id;
  if l.home is not null then perform outbox.go_on(l.home, l.is_first); end if;
  details := jsonb_build_object('from', (l.message).state, 'attempts', (l.message).attempts);
  result := 'discarded';
end $$;

-- Replaces a failed message, or the first of a parked key, by a copy with a new id in its place, which is tried now. The
-- new id is noted, so that it is not handled through the stream as well.
create function outbox.edit_kept(
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
    where p.key_id = v_home and p.state = 'parked' and p.position < m.position));
  result := 'edited';
  details := jsonb_build_object('copy', p_copy, 'from', m.state, 'attempts', m.attempts,
    'body', jsonb_build_object('before', encode(sha256(m.body), 'hex'), 'after', encode(sha256(p_body), 'hex')),
    'wire', jsonb_build_object('before', outbox.sha256(m.wire), 'after', outbox.sha256(p_wire)));
end $$;
