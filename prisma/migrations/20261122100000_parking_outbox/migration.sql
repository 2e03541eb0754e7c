-- Messages that a consumer keeps: parked behind a failure of their key, or given up. And the marks by which a message is
-- found that kills its consumer.
-- Locks: adds nullable columns to outbox.audit, briefly; all other objects are new.

alter table outbox.audit
  add column consumer_group text collate "C",
  add column inbox_id text collate "C";
create index audit_inbox on outbox.audit (consumer_group, inbox_id, id) where inbox_id is not null;

-- A key whose messages queue, or one message without a key. Its workflow tries the first of the queue, and then drains it.
create table outbox.parked_key (
  id             uuid primary key default outbox.uuid_v7(),
  consumer_group text collate "C" not null,
  topic          text collate "C" not null,
  key            text collate "C",
  workflow_id    text not null,
  -- When the first message of the queue is tried; infinity: when a person has decided about a failed one.
  next_at        timestamptz not null,
  -- When its workflow was last started.
  told_at        timestamptz,
  -- Of a key that an operator brought back: transactions before this one may not know it yet.
  unseen_before  xid8,
  parked_at      timestamptz not null default outbox.clock(),
  unique (consumer_group, topic, key)
);
create index parked_key_next on outbox.parked_key (consumer_group, next_at);
create index parked_key_untold on outbox.parked_key (consumer_group, next_at) where told_at is null;

create table outbox.parked (
  consumer_group text collate "C" not null,
  message_id     text collate "C" not null,
  position       bigint generated always as identity (cache 1),
  state          text not null default 'parked' check (state in ('parked', 'failed', 'superseded', 'discarded')),
  key_id         uuid,
  topic          text collate "C" not null,
  key            text collate "C",
  address        text not null,
  partition      integer not null,
  "offset"       text not null,
  -- Key and headers as they arrived, as JSON text: a value with NUL fits no other type.
  wire           text not null,
  body           bytea,
  sent_at        timestamptz not null,
  -- Tries that were begun, the quick ones together counting as the first.
  attempts       integer not null default 0,
  reason         text,
  last_error     text,
  supersedes     text collate "C",
  superseded_by  text collate "C",
  -- When its copy reached the address of dead letters.
  copied_at      timestamptz,
  arrived_at     timestamptz not null default outbox.clock(),
  updated_at     timestamptz not null default outbox.clock(),
  primary key (consumer_group, message_id),
  check (state <> 'parked' or key_id is not null)
);
create index parked_queue on outbox.parked (key_id, position) where state = 'parked';
create index parked_failed on outbox.parked (consumer_group, position) where state = 'failed';

-- The legal changes of state, as in src/core/parked-states.ts.
create trigger parked_transition before update of state on outbox.parked
  for each row when (old.state <> new.state and (old.state, new.state) not in (
    ('parked', 'failed'), ('failed', 'parked'), ('failed', 'superseded'), ('failed', 'discarded'),
    ('parked', 'superseded'), ('parked', 'discarded')))
  execute function outbox.refuse_transition();

create function outbox.parked_workflow_id(p_group text, p_id uuid) returns text language sql stable
as $$ select (select i.id from outbox.installation i)::text || '/handle/' || p_group || '/' || p_id::text $$;

-- What is to become of messages of a group, in their order, inside the transaction of their effects:
-- 'new': their ids are noted now; 'queued': as new, but their key is parked and they belong behind its queue;
-- 'processed': handled before; 'parked': kept before. No answers at all: every one of them is new.
--
-- The keys may be left out as long as the group has no parked key; null says that they are needed, and nothing is noted
-- then. One topic may stand for all of them. Both save most of what a batch costs on its way here.
--
-- The key is looked at before the id is noted, and stays parked until this transaction ends: whoever drains the key
-- deletes its row only after it has waited for us, and looks for the last time after that. And the transaction has its
-- id before it looks: who did not see a key that an operator brought back has an id from before the key was there, so
-- outbox.begin_try can tell when all of those have ended.
create function outbox.receive(p_group text, p_ids text[], p_topics text[], p_keys text[], p_idle_ms integer)
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
    join outbox.parked p on p.consumer_group = p_group and p.message_id = u.id and p.state = 'parked' and p.key is not null
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

-- As outbox.receive, for one message of a group that has no parked key: true when it is new, and noted. Null: ask
-- outbox.receive, nothing is noted. Most transactions of a consumer begin with this, so it does nothing else, and with as
-- few statements as it can: each has a price here that shows at thousands per second.
--
-- A transaction that begins while an epoch of processed ids ends may be refused, as in outbox.refuse_ended_epoch; that
-- costs another try.
create function outbox.receive_one(p_group text, p_id text, p_topic text, p_idle_ms integer) returns boolean language plpgsql
set enable_seqscan = off
as $$
declare
  v_xid xid8 := pg_current_xact_id();
  v_idle text := set_config('idle_in_transaction_session_timeout', p_idle_ms::text, true);
  v_epoch bigint;
  v_older boolean;
  v_parked boolean;
begin
  select e.epoch, exists (select from outbox.processed_epoch o where o.epoch < e.epoch),
    exists (select from outbox.parked_key k where k.consumer_group = p_group)
  into strict v_epoch, v_older, v_parked
  from outbox.processed_epoch e where e.ended_at is null;
  if v_parked then return null; end if;
  if v_older then
    if exists (select from outbox.processed o
      where o.consumer_group = p_group and o.message_id = p_id and o.epoch < v_epoch limit 1) then return null; end if;
  end if;
  insert into outbox.processed (epoch, consumer_group, message_id, topic) values (v_epoch, p_group, p_id, p_topic)
  on conflict do nothing;
  return case when found then true end;
end $$;

-- Adds messages to the queue of their parked key, in their order. The key must be locked by outbox.receive, or be made
-- here when `p_retry_ms` says when its first message is tried again.
create function outbox.park(p_group text, p_messages jsonb, p_retry_ms float8 default null) returns void language plpgsql
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
    values (p_group, m ->> 'id', m ->> 'state', home, m ->> 'topic', m ->> 'key', m ->> 'address', (m ->> 'partition')::integer,
      m ->> 'offset', m ->> 'wire', decode(m ->> 'body', 'base64'), (m ->> 'sentAt')::timestamptz,
      (m ->> 'attempts')::integer, m ->> 'reason', m ->> 'error');
  end loop;
end $$;

-- Ends a parked key whose queue is empty, and says whether it did. Who is adding to the queue holds a share of the key's
-- row, and is not waited for: the key stays then, and its next try ends it. Else the queue is looked at once more, because
-- somebody may have added to it, and gone, since the first look.
create function outbox.end_key(p_id uuid) returns boolean language plpgsql
as $$
begin
  if exists (select from outbox.parked p where p.key_id = p_id and p.state = 'parked' limit 1) then return false; end if;
  perform from outbox.parked_key k where k.id = p_id for update skip locked;
  if not found or exists (select from outbox.parked p where p.key_id = p_id and p.state = 'parked' limit 1) then return false; end if;
  delete from outbox.parked_key k where k.id = p_id;
  return true;
end $$;

create type outbox.try_answer as (
  kind text, wait_ms float8, message_id text, topic text, key text, address text, partition integer, "offset" text, wire text,
  body text, sent_at timestamptz, attempts integer);

-- What parked_key.unseen_before says of a key that was brought back and was not tried since.
create function outbox.not_yet_known() returns xid8 language sql immutable parallel safe
as $$ select '18446744073709551615'::xid8 $$;

-- Begins a try of the first message of a parked key, which counts from now on: a message that kills whoever tries it
-- is not tried again before its next time, and not more often than others.
--
-- The first try of a key that an operator brought back finds out whom to wait for. The transaction that brought it back
-- cannot know: others may begin while it runs, and do not see the key until it commits.
create function outbox.begin_try(p_id uuid, p_retry_ms float8[], p_hold boolean) returns outbox.try_answer
language plpgsql
as $$
declare
  k outbox.parked_key;
  m outbox.parked;
  answer outbox.try_answer;
begin
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
  select * into m from outbox.parked x where x.key_id = p_id and x.state = 'parked' order by x.position limit 1;
  if not found then
    answer.kind := case when outbox.end_key(p_id) then 'gone' else 'busy' end;
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

-- Takes part in a try that was begun, for the transaction of its effects; false when somebody has decided otherwise since.
create function outbox.join_try(p_id uuid, p_group text, p_message_id text, p_attempts integer, p_idle_ms integer)
returns boolean language plpgsql
as $$
begin
  perform set_config('idle_in_transaction_session_timeout', p_idle_ms::text, true);
  perform from outbox.parked_key k where k.id = p_id for no key update;
  return exists (select from outbox.parked p where p.consumer_group = p_group and p.message_id = p_message_id
    and p.key_id = p_id and p.state = 'parked' and p.attempts = p_attempts);
end $$;

-- Ends a try whose effects commit with it: 'gone' when the key is free again, 'more' when it has further messages.
create function outbox.end_try(p_id uuid, p_group text, p_message_id text) returns text language plpgsql
as $$
begin
  delete from outbox.parked p where p.consumer_group = p_group and p.message_id = p_message_id;
  if outbox.end_key(p_id) then return 'gone'; end if;
  update outbox.parked_key k set next_at = outbox.clock() where k.id = p_id;
  return 'more';
end $$;

-- Gives a parked message up. Under `p_hold` its key waits for a person, else it goes on with the next message.
create function outbox.give_up(p_group text, p_message_id text, p_reason text, p_error text, p_hold boolean) returns text
language plpgsql
as $$
declare
  home uuid;
begin
  update outbox.parked p set state = 'failed', reason = p_reason, last_error = coalesce(p_error, p.last_error),
    updated_at = outbox.clock()
  where p.consumer_group = p_group and p.message_id = p_message_id and p.state = 'parked'
  returning key_id into home;
  if home is null then return 'gone'; end if;
  if p_hold and exists (select from outbox.parked_key k where k.id = home and k.key is not null) then
    update outbox.parked_key k set next_at = 'infinity' where k.id = home;
    return 'held';
  end if;
  update outbox.parked p set key_id = null where p.consumer_group = p_group and p.message_id = p_message_id;
  if outbox.end_key(home) then return 'gone'; end if;
  update outbox.parked_key k set next_at = outbox.clock() where k.id = home;
  return 'more';
end $$;

-- Ends a try that failed, its effects rolled back: 'wait' with the time of the next one, or as outbox.give_up.
create function outbox.fail_try(
  p_group text, p_message_id text, p_attempts integer, p_reason text, p_error text, p_final boolean, p_retry_ms float8[], p_hold boolean
) returns outbox.try_answer language plpgsql
as $$
declare
  answer outbox.try_answer;
  home uuid;
begin
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

-- What a consumer has in hand, one row per partition: left behind unfinished, one of these messages may have killed it.
create table outbox.mark (
  consumer_group text collate "C" not null,
  address        text collate "C" not null,
  partition      integer not null,
  owner          uuid not null,
  -- How many messages it covers, and the last of them; of a single one, how often it was found unfinished.
  size           integer not null,
  last_id        text not null,
  kills          integer not null default 0,
  begun_at       timestamptz not null default clock_timestamp(),
  primary key (consumer_group, address, partition)
);
