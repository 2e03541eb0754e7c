-- A try of a parked key has a number, so that who has begun it can tell whether it is still theirs, and can be given back
-- uncounted.
-- Locks: outbox.parked_key entirely, for a moment; all other objects are functions.

alter table outbox.parked_key
  -- Number of the last try that was begun. It never falls, unlike the attempts of a message.
  add column tries integer not null default 0;

alter type outbox.try_answer add attribute number integer;

-- As before, and the try has a number.
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
  update outbox.parked_key x set tries = k.tries + 1, next_at = outbox.clock()
    + coalesce(p_retry_ms[least(m.attempts + 1, cardinality(p_retry_ms))], 0) * interval '1 ms'
  where x.id = p_id;
  return ('try', null, m.message_id, m.topic, m.key, m.address, m.partition, m."offset", m.wire, encode(m.body, 'base64'), m.sent_at,
    m.attempts + 1, k.tries + 1)::outbox.try_answer;
end $$;

-- As outbox.join_try of before, by the number of the try: attempts come again when a try was given back.
create function outbox.join_try(
  p_id uuid, p_group text, p_message_id text, p_attempts integer, p_number integer, p_idle_ms integer
) returns boolean language plpgsql
as $$
begin
  perform set_config('idle_in_transaction_session_timeout', p_idle_ms::text, true);
  perform from outbox.parked_key k where k.id = p_id and k.tries = p_number for no key update;
  return found and exists (select from outbox.parked p where p.consumer_group = p_group and p.message_id = p_message_id
    and p.key_id = p_id and p.state = 'parked' and p.attempts = p_attempts);
end $$;

-- Gives a try back that has come to nothing for reasons that are not its message's: the attempt is not counted, and the
-- next try is due in `p_in_ms`. False when somebody has decided otherwise since, or another try has overtaken it: nothing
-- is changed then. Waits for who takes part in the try.
create function outbox.return_try(p_id uuid, p_group text, p_message_id text, p_attempts integer, p_number integer, p_in_ms float8)
returns boolean language plpgsql
as $$
begin
  perform outbox.limit_idle();
  perform from outbox.parked_key k where k.id = p_id and k.tries = p_number for no key update;
  if not found then return false; end if;
  update outbox.parked p set attempts = p_attempts - 1, updated_at = outbox.clock()
  where p.consumer_group = p_group and p.message_id = p_message_id and p.key_id = p_id and p.state = 'parked'
    and p.attempts = p_attempts;
  if not found then return false; end if;
  -- Another number, so that it is given back once.
  update outbox.parked_key k set tries = k.tries + 1, next_at = outbox.clock() + p_in_ms * interval '1 ms' where k.id = p_id;
  return true;
end $$;
