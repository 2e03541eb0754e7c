-- Creates the schema "outbox": tables, the one writer, and the guards.
-- Locks: nothing that exists; all objects are new.

create schema outbox;

-- The one clock of every decision about time. Tests replace it to follow skipped time.
create function outbox.clock() returns timestamptz language sql stable
as $$ select now() $$;

-- UUID version 7: 48 bits of milliseconds, then random bits. Servers before version 18 have none of their own.
create function outbox.uuid_v7() returns uuid language sql volatile
as $$
  select encode(
    set_bit(set_bit(
      overlay(uuid_send(gen_random_uuid())
        placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6),
      52, 1), 53, 1),
    'hex')::uuid
$$;

-- One row: who this database is. Ids of workflows and task queues carry the id, so that two databases
-- in one Temporal namespace never meet; the other columns tell a restored copy from the original.
create table outbox.installation (
  only_one          boolean primary key default true check (only_one),
  id                uuid not null default gen_random_uuid(),
  system_identifier text not null,
  database_oid      oid not null,
  created_at        timestamptz not null default now()
);
insert into outbox.installation (system_identifier, database_oid)
select (select system_identifier::text from pg_control_system()), (select oid from pg_database where datname = current_database());

create type outbox.state as enum (
  'waiting', 'ready', 'held', 'retrying', 'published', 'confirmed', 'failed', 'canceled', 'superseded', 'discarded'
);

-- The policy of a topic, written by relays and by `migrate --topics`; a topic without a row has the defaults.
create table outbox.topic (
  name       text collate "C" primary key,
  transport  text not null,
  address    text not null,
  lanes      integer not null default 1 check (lanes between 1 and 1024),
  partitions integer check (partitions > 0),
  waits      text not null default 'workflow' check (waits in ('workflow', 'lane')),
  exhausted  text not null default 'release-key' check (exhausted in ('release-key', 'hold-key')),
  retry_ms   bigint[] not null,
  horizon    interval not null default '24 hours',
  visible    boolean not null default true,
  payload_limit_bytes integer not null default 921600,
  delay_limit interval not null default '400 days',
  paused     boolean not null default false,
  updated_at timestamptz not null default now()
);

-- Who empties a lane, and how far it is. `cursor` and `snapshot` together say exactly which ready rows are published.
create table outbox.lane (
  topic        text collate "C" not null,
  n            integer not null,
  cursor       bigint not null default 0,
  snapshot     pg_snapshot,
  owner        uuid,
  alive_until  timestamptz,
  -- What an owner that died may have published: rows of this snapshot can no longer be canceled.
  suspect      pg_snapshot,
  wanted_since timestamptz,
  started_at   timestamptz,
  hold         jsonb,
  primary key (topic, n)
) with (fillfactor = 50);

-- One sequence for all lanes. CACHE 1: a cached block would let a later transaction take a lower position.
create sequence outbox.message_position as bigint cache 1;

create table outbox.message (
  id              uuid primary key,
  topic           text collate "C" not null,
  lane            integer not null,
  position        bigint not null default nextval('outbox.message_position'),
  xid             xid8 not null default pg_current_xact_id(),
  key             text collate "C",
  ref             text collate "C",
  payload         text not null,
  content_type    text not null default 'application/json',
  headers         jsonb,
  state           outbox.state not null,
  workflow_id     text not null,
  due_at          timestamptz,
  -- The due time that the workflow of its own was last told; equal to due_at where there is none to tell.
  workflow_due_at timestamptz,
  attempts        integer not null default 0,
  sends           integer not null default 0,
  last_error      text,
  maybe_published boolean not null default false,
  partition       integer,
  "offset"        bigint,
  confirm_by      timestamptz,
  created_at      timestamptz not null default statement_timestamp(),
  updated_at      timestamptz not null default statement_timestamp(),
  published_at    timestamptz,
  supersedes      uuid
) with (fillfactor = 90, autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 500,
        autovacuum_vacuum_insert_scale_factor = 0.1);

-- After bulk loads a sample sees few distinct transactions and the planner gives up the index; what is true for the
-- queries of this table is that a transaction names few rows.
alter table outbox.message alter column xid set (n_distinct = -1);
alter table outbox.message alter column xid set statistics 1;

-- Only ready rows: a million messages that wait must not stand in the way of a claim, and a published row stays ready.
create index message_lane_position on outbox.message (topic, lane, position) where state = 'ready';
create index message_lane_xid on outbox.message (topic, lane, xid) where state = 'ready';
-- What is new since the last look of a relay, over all lanes. Positions are always above 0: the predicate keeps the
-- planner from taking this index for the late rows of one lane, where it would read the news of all others.
create index message_xid on outbox.message (xid) where position > 0;
create index message_blocking on outbox.message (topic, lane, key, position) where state in ('retrying', 'held', 'failed');
create index message_due on outbox.message (due_at) where state in ('waiting', 'retrying');
create index message_untold on outbox.message (due_at)
  where state in ('waiting', 'retrying') and workflow_due_at is distinct from due_at;
create unique index message_waiting_ref on outbox.message (topic, ref) where state = 'waiting';
create index message_ref on outbox.message (topic, ref, created_at) where ref is not null;

-- One row per settled batch.
create table outbox.batch (
  -- Chosen by the owner of the lane, so that a settle whose answer was lost can be said again.
  id             uuid primary key,
  topic          text collate "C" not null,
  lane           integer not null,
  first_position bigint not null,
  last_position  bigint not null,
  count          integer not null,
  published_at   timestamptz not null,
  -- {"<partition>": {"first": "<offset>", "count": n}}; empty where a transport has no offsets.
  partitions     jsonb not null
);
create index batch_lane on outbox.batch (topic, lane, last_position);

-- Failures, and every attempt of a message that has a workflow of its own.
create table outbox.attempt (
  id         bigint generated always as identity primary key,
  message_id uuid not null,
  at         timestamptz not null,
  outcome    text not null check (outcome in ('acknowledged', 'rejected', 'ambiguous', 'permanent')),
  error      text,
  partition  integer,
  "offset"   bigint
);
create index attempt_message on outbox.attempt (message_id, at);

-- Who did what to a message by hand.
create table outbox.audit (
  id         bigint generated always as identity primary key,
  at         timestamptz not null default now(),
  actor      text not null,
  action     text not null,
  message_id uuid,
  result     text not null,
  reason     text
);

-- Consumer side: the ids whose effects are committed.
create table outbox.processed (
  consumer_group text collate "C" not null,
  message_id     text collate "C" not null,
  state          text not null default 'processed' check (state in ('processed', 'parked')),
  topic          text collate "C",
  processed_at   timestamptz not null default now(),
  primary key (consumer_group, message_id)
);
create index processed_at on outbox.processed (processed_at);

-- The legal changes of state, as in src/core/transitions.ts. A legal change does not call the function.
create function outbox.refuse_transition() returns trigger language plpgsql
as $$
begin
  raise exception 'outbox: % cannot become %', old.state, new.state
    using errcode = 'OB001', detail = 'message ' || new.id, hint = 'The legal transitions are listed in ARCHITECTURE.md.';
end
$$;

create trigger message_transition before update of state on outbox.message for each row
when (old.state is distinct from new.state and not (
     old.state = 'waiting'   and new.state in ('ready', 'canceled')
  or old.state = 'ready'     and new.state in ('published', 'retrying', 'held', 'failed', 'confirmed', 'canceled')
  or old.state = 'held'      and new.state in ('ready', 'canceled')
  or old.state = 'retrying'  and new.state in ('ready', 'failed', 'confirmed', 'canceled')
  or old.state = 'published' and new.state in ('ready', 'failed', 'confirmed')
  or old.state = 'failed'    and new.state in ('ready', 'confirmed', 'superseded', 'discarded')
))
execute function outbox.refuse_transition();

create function outbox.refuse_insert() returns trigger language plpgsql
as $$
begin
  raise exception 'outbox: a message cannot begin as %', new.state using errcode = 'OB001', detail = 'message ' || new.id;
end
$$;

create trigger message_insert before insert on outbox.message for each row
when (new.state not in ('waiting', 'ready'))
execute function outbox.refuse_insert();

-- Lanes are chosen here and nowhere else: two languages or two configurations must not disagree about a key.
create function outbox.lane_of(key text, id uuid, lanes integer) returns integer language sql immutable
as $$
  select case when lanes = 1 then 0
    else (('x' || substr(md5(coalesce(key, id::text)), 1, 8))::bit(32)::bigint % lanes)::integer end
$$;

create function outbox.lane_workflow_id(topic text, lane integer) returns text language sql stable
as $$ select (select id from outbox.installation) || '/lane/' || topic || '/' || lane $$;

create function outbox.message_workflow_id(id uuid) returns text language sql stable
as $$ select (select i.id from outbox.installation i) || '/message/' || id $$;

create type outbox.stored as (id uuid, workflow_id text, state outbox.state, due_at timestamptz, duplicate boolean);

-- Headers are texts with names that every transport can carry; the outbox writes some names itself.
create function outbox.headers_fit(headers jsonb) returns boolean language sql immutable
as $$
  select case coalesce(jsonb_typeof(headers), 'null')
    when 'null' then true
    when 'object' then not exists (
      select from jsonb_each(headers) h
      where jsonb_typeof(h.value) <> 'string' or h.key !~ '^[a-z0-9][a-z0-9_.-]{0,127}$' or h.key ~ '^(ce_|outbox-|content-type$)')
    else false
  end
$$;

-- The interval in seconds: days of 24 hours, also where a session's time zone makes one of 23.
create function outbox.exact(length interval) returns interval language sql immutable
as $$ select make_interval(secs => extract(epoch from length)::float8) $$;

-- Why a message cannot be stored, or null. {"code": …, "message": …, "details": …}; codes as in src/core/errors.ts.
create function outbox.refusal(m jsonb, policy outbox.topic, due timestamptz, now_at timestamptz) returns jsonb language sql stable
as $$
  select case
    when policy.name !~ '^[A-Za-z0-9._-]{1,200}$'
      then jsonb_build_object('code', 'OUTBOX_TOPIC_INVALID', 'message', format('"%s" is no name for a topic.', policy.name))
    when m ->> 'payload' is null
      then jsonb_build_object('code', 'OUTBOX_PAYLOAD_INVALID', 'message', 'The payload is missing.')
    when octet_length(m ->> 'payload') > policy.payload_limit_bytes
      then jsonb_build_object('code', 'OUTBOX_PAYLOAD_TOO_LARGE',
        'message', format('The payload has %s bytes; the topic allows %s.', octet_length(m ->> 'payload'), policy.payload_limit_bytes),
        'details', jsonb_build_object('bytes', octet_length(m ->> 'payload'), 'limit', policy.payload_limit_bytes))
    when octet_length(m ->> 'key') not between 1 and 256
      then jsonb_build_object('code', 'OUTBOX_KEY_INVALID', 'message', format('The key has %s bytes.', octet_length(m ->> 'key')))
    when octet_length(m ->> 'ref') not between 1 and 256
      then jsonb_build_object('code', 'OUTBOX_REF_INVALID', 'message', format('The ref has %s bytes.', octet_length(m ->> 'ref')))
    when octet_length((m -> 'headers')::text) > 32768
      then jsonb_build_object('code', 'OUTBOX_HEADER_INVALID', 'message', 'The headers have more than 32 KiB.')
    when not outbox.headers_fit(m -> 'headers')
      then jsonb_build_object('code', 'OUTBOX_HEADER_INVALID',
        'message', 'The headers are not an object of texts with lower-case names, or use a reserved name.')
    when due > now_at + outbox.exact(policy.delay_limit)
      then jsonb_build_object('code', 'OUTBOX_DELAY_OUT_OF_RANGE',
        'message', format('The message would be due %s; the topic allows a delay of %s.', due, policy.delay_limit))
  end
$$;

-- The policy of a topic, or the defaults.
create function outbox.policy(p_topic text) returns outbox.topic language plpgsql stable
as $$
declare
  policy outbox.topic;
begin
  select * into policy from outbox.topic t where t.name = p_topic;
  if not found then
    policy.name := p_topic;
    policy.lanes := 1;
    policy.waits := 'workflow';
    policy.payload_limit_bytes := 921600;
    policy.delay_limit := '400 days';
  end if;
  return policy;
end
$$;

-- Stores messages, all or none. Refusals come back as data, because an exception would end the transaction of the
-- caller. Messages: [{payload, key?, ref?, id?, headers?, contentType?, afterMs?, at?}], in the order of sending.
create type outbox.store_result as (
  n bigint, id uuid, workflow_id text, state outbox.state, due_at timestamptz, duplicate boolean, refusal jsonb
);

create function outbox.store(p_topic text, p_messages jsonb) returns setof outbox.store_result language plpgsql volatile
as $$
declare
  policy outbox.topic := outbox.policy(p_topic);
  installation uuid := (select i.id from outbox.installation i);
  now_at timestamptz := outbox.clock() + (clock_timestamp() - now());
  results outbox.store_result[];
begin
  -- Everything is checked before anything is written.
  return query
    select e.n, null::uuid, null::text, null::outbox.state, null::timestamptz, false, e.refusal
    from (
      select x.n, case
          when count(*) over (partition by (x.m ->> 'id')::uuid) > 1 and x.m ->> 'id' is not null
            then jsonb_build_object('code', 'OUTBOX_ID_TAKEN', 'message', format('The id %s is used twice in one batch.', x.m ->> 'id'))
          else outbox.refusal(x.m, policy, coalesce((x.m ->> 'at')::timestamptz, now_at + (x.m ->> 'afterMs')::float8 * interval '1 ms'), now_at)
        end as refusal
      from jsonb_array_elements(p_messages) with ordinality x(m, n)
    ) e
    where e.refusal is not null;
  if found then return; end if;

  with input as materialized (
    select x.n, x.m, coalesce((x.m ->> 'id')::uuid, outbox.uuid_v7()) as id,
      coalesce((x.m ->> 'at')::timestamptz, now_at + (x.m ->> 'afterMs')::float8 * interval '1 ms') as due
    from jsonb_array_elements(p_messages) with ordinality x(m, n)
  ), placed as (
    select i.*, i.due > now_at as waits, outbox.lane_of(i.m ->> 'key', i.id, policy.lanes) as lane from input i
  ), inserted as (
    insert into outbox.message as t (id, topic, lane, key, ref, payload, content_type, headers, state, workflow_id, due_at, workflow_due_at)
    select p.id, p_topic, p.lane, p.m ->> 'key', p.m ->> 'ref', p.m ->> 'payload',
      coalesce(p.m ->> 'contentType', 'application/json'), nullif(p.m -> 'headers', 'null'),
      case when p.waits then 'waiting'::outbox.state else 'ready' end,
      case when p.waits and policy.waits = 'workflow' then installation || '/message/' || p.id
        else installation || '/lane/' || p_topic || '/' || p.lane end,
      p.due, case when policy.waits = 'lane' or not p.waits then p.due end
    from placed p order by p.n
    on conflict do nothing
    returning t.id, t.workflow_id, t.state, t.due_at
  )
  select array_agg((p.n, p.id, s.workflow_id, s.state, s.due_at, false, null)::outbox.store_result order by p.n) into results
  from placed p left join inserted s on s.id = p.id;

  -- What was not inserted is a repeat of a stored message, or takes an id or a ref that is in use.
  if exists (select from unnest(results) r where r.state is null) then
    results := outbox.resolve_conflicts(p_topic, p_messages, results);
  end if;
  return query select * from unnest(results);
end
$$;

-- Answers repeats with the stored message. Any refusal takes back what the same call inserted.
create function outbox.resolve_conflicts(p_topic text, p_messages jsonb, p_results outbox.store_result[])
returns outbox.store_result[] language plpgsql volatile
as $$
declare
  resolved outbox.store_result[];
begin
  select array_agg(case
      when r.state is not null then r
      when e.id is null then (r.n, r.id, null, null, null, false, jsonb_build_object('code', 'OUTBOX_REF_TAKEN',
        'message', format('A message of the ref "%s" is already waiting.', x.m ->> 'ref')))::outbox.store_result
      when e.topic = p_topic and e.payload = x.m ->> 'payload' and e.key is not distinct from x.m ->> 'key'
        then (r.n, e.id, e.workflow_id, e.state, e.due_at, true, null)::outbox.store_result
      else (r.n, r.id, null, null, null, false, jsonb_build_object('code', 'OUTBOX_ID_TAKEN',
        'message', format('The id %s belongs to a message with other content.', r.id)))::outbox.store_result
    end order by r.n) into resolved
  from unnest(p_results) r
  join jsonb_array_elements(p_messages) with ordinality x(m, n) on x.n = r.n
  left join outbox.message_view e on e.id = r.id;

  if exists (select from unnest(resolved) r where r.refusal is not null) then
    delete from outbox.message t using unnest(p_results) r where t.id = r.id and r.state is not null;
    return array(select r from unnest(resolved) r where r.refusal is not null);
  end if;
  return resolved;
end
$$;

-- Stores one message in the current transaction. Raises OB002 when it is refused; the detail is the error code.
create function outbox.send(
  topic text, payload text, key text default null, after interval default null, at timestamptz default null,
  ref text default null, headers jsonb default null, id uuid default null
) returns outbox.stored language plpgsql volatile
as $$
declare
  answer outbox.store_result;
begin
  select * into answer from outbox.store(topic, jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
    'payload', payload, 'key', key, 'afterMs', extract(epoch from after) * 1000, 'at', at, 'ref', ref, 'headers', headers, 'id', id))));
  if answer.refusal is not null then
    raise exception 'outbox: %', answer.refusal ->> 'message' using errcode = 'OB002', detail = answer.refusal ->> 'code';
  end if;
  return (answer.id, answer.workflow_id, answer.state, answer.due_at, answer.duplicate)::outbox.stored;
end
$$;

-- Stores many messages, all or none, in their order. Raises OB002 when one is refused.
create function outbox.send_batch(topic text, messages jsonb) returns setof outbox.stored language plpgsql volatile
as $$
declare
  answer outbox.store_result;
begin
  for answer in select * from outbox.store(topic, messages) loop
    if answer.refusal is not null then
      raise exception 'outbox: message %: %', answer.n, answer.refusal ->> 'message'
        using errcode = 'OB002', detail = answer.refusal ->> 'code';
    end if;
    return next (answer.id, answer.workflow_id, answer.state, answer.due_at, answer.duplicate)::outbox.stored;
  end loop;
end
$$;

-- The message that a ref means: the waiting one, else the newest.
create function outbox.message_of_ref(p_topic text, p_ref text) returns uuid language sql stable
as $$
  select m.id from outbox.message m where m.topic = p_topic and m.ref = p_ref
  order by (m.state = 'waiting') desc, m.created_at desc, m.position desc limit 1
$$;

-- Cancels a message by ref or id: 'canceled', 'too-late' or 'unknown'. Provisional until the transaction commits.
create function outbox.cancel(topic text, ref text default null, id uuid default null) returns text language plpgsql volatile
as $$
declare
  target uuid := coalesce(cancel.id, outbox.message_of_ref(cancel.topic, cancel.ref));
  found_state outbox.state;
begin
  update outbox.message m set state = 'canceled', xid = pg_current_xact_id(), updated_at = outbox.clock()
  where m.id = target and m.topic = cancel.topic
    and (m.state = 'waiting' or m.state in ('retrying', 'held') and not m.maybe_published);
  if found then return 'canceled'; end if;
  select m.state into found_state from outbox.message m where m.id = target and m.topic = cancel.topic;
  return case when found_state is null then 'unknown' when found_state = 'canceled' then 'canceled' else 'too-late' end;
end
$$;

-- Moves the due time of a waiting message: 'rescheduled', 'too-late', 'unknown' or 'out-of-range'.
create function outbox.reschedule(
  topic text, ref text default null, id uuid default null, after interval default null, at timestamptz default null
) returns text language plpgsql volatile
as $$
declare
  target uuid := coalesce(reschedule.id, outbox.message_of_ref(reschedule.topic, reschedule.ref));
  now_at timestamptz := outbox.clock() + (clock_timestamp() - now());
  due timestamptz := coalesce(at, now_at + after);
begin
  if due is null or due > now_at + outbox.exact((outbox.policy(reschedule.topic)).delay_limit) then return 'out-of-range'; end if;
  update outbox.message m set due_at = greatest(due, now_at), updated_at = outbox.clock(),
    workflow_due_at = case when m.workflow_id = outbox.message_workflow_id(m.id) then m.workflow_due_at else greatest(due, now_at) end
  where m.id = target and m.topic = reschedule.topic and m.state = 'waiting';
  if found then return 'rescheduled'; end if;
  return case when exists (select from outbox.message m where m.id = target and m.topic = reschedule.topic)
    then 'too-late' else 'unknown' end;
end
$$;

-- Messages as people and tools see them: a ready row that its lane has passed is published.
create view outbox.message_view as
select m.id, m.topic, m.lane, m.position, m.key, m.ref, m.payload, m.content_type, m.headers,
  case when m.state = 'ready' and m.position <= l.cursor and pg_visible_in_snapshot(m.xid, l.snapshot)
    then 'published'::outbox.state else m.state end as state,
  m.workflow_id, m.due_at, m.workflow_due_at, m.attempts, m.sends, m.last_error, m.maybe_published,
  m.partition, m."offset", m.confirm_by, m.created_at, m.updated_at, m.published_at, m.supersedes
from outbox.message m left join outbox.lane l on l.topic = m.topic and l.n = m.lane;
