-- Where finished messages go, and what the maintenance of the outbox writes down.
-- Locks: builds two indexes on outbox.message and one on outbox.batch, which keeps writers of these tables waiting while
-- it reads them (about a second for a million rows). The rest is new, or replaces functions.

-- Archived messages, partitioned by the month (UTC) in which they were archived, so that old ones are dropped and not
-- deleted. The archive makes the partitions of this and the next month before it moves anything.
create table outbox.message_history (
  id              uuid not null,
  topic           text collate "C" not null,
  lane            integer not null,
  position        bigint not null,
  key             text collate "C",
  ref             text collate "C",
  payload         text not null,
  content_type    text not null,
  headers         jsonb,
  -- As people saw it: a message that its lane had passed is published here.
  state           outbox.state not null,
  workflow_id     text not null,
  due_at          timestamptz,
  workflow_due_at timestamptz,
  attempts        integer not null,
  sends           integer not null,
  last_error      text,
  maybe_published boolean not null,
  partition       integer,
  "offset"        bigint,
  confirm_by      timestamptz,
  created_at      timestamptz not null,
  updated_at      timestamptz not null,
  published_at    timestamptz,
  supersedes      uuid,
  archived_at     timestamptz not null
) partition by range (archived_at);
create index message_history_id on outbox.message_history (id);
create index message_history_ref on outbox.message_history (topic, ref, created_at) where ref is not null;

-- Finished rows by age. Those that their lanes have merely passed are ready and found by position.
create index message_finished on outbox.message (state, updated_at, id)
  where state in ('published', 'confirmed', 'failed', 'canceled', 'superseded', 'discarded');
-- Messages that have been given a workflow of their own, in the order in which they are due.
create index message_told on outbox.message (due_at, id)
  where state in ('waiting', 'retrying') and workflow_due_at is not null and workflow_id like '%/message/%';
-- How far a lane was at some time.
create index batch_lane_time on outbox.batch (topic, lane, published_at);

-- All messages as people and tools see them; archived_at is null while the row is live.
create view outbox.message_all as
select v.id, v.topic, v.lane, v.position, v.key, v.ref, v.payload, v.content_type, v.headers, v.state, v.workflow_id, v.due_at,
  v.workflow_due_at, v.attempts, v.sends, v.last_error, v.maybe_published, v.partition, v."offset", v.confirm_by, v.created_at,
  v.updated_at, v.published_at, v.supersedes, null::timestamptz as archived_at
from outbox.message_view v
union all
select h.id, h.topic, h.lane, h.position, h.key, h.ref, h.payload, h.content_type, h.headers, h.state, h.workflow_id, h.due_at,
  h.workflow_due_at, h.attempts, h.sends, h.last_error, h.maybe_published, h.partition, h."offset", h.confirm_by, h.created_at,
  h.updated_at, h.published_at, h.supersedes, h.archived_at
from outbox.message_history h;

-- One row per comparison of rows with workflows; the last hundred are kept.
create table outbox.reconciliation (
  id                bigint generated always as identity primary key,
  at                timestamptz not null,
  took_ms           integer not null,
  -- Was everything compared, or only what is due next?
  thorough          boolean not null,
  -- Where a thorough comparison goes on that was too long for one run; null: it came to its end.
  resume            jsonb,
  rows              integer not null,
  workflows         integer not null,
  checked_rows      integer not null,
  checked_workflows integer not null,
  restarted         integer not null,
  ended             integer not null
);

-- Stores messages, all or none. Refusals come back as data, because an exception would end the transaction of the
-- caller. Messages: [{payload, key?, ref?, id?, headers?, contentType?, afterMs?, at?}], in the order of sending.
create or replace function outbox.store(p_topic text, p_messages jsonb) returns setof outbox.store_result language plpgsql volatile
as $$
declare
  policy outbox.topic := outbox.policy(p_topic);
  installation uuid := (select i.id from outbox.installation i);
  now_at timestamptz := outbox.clock() + (clock_timestamp() - now());
  results outbox.store_result[];
  given uuid[];
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
    select x.n, x.m, x.m ->> 'id' is not null as given, coalesce((x.m ->> 'id')::uuid, outbox.uuid_v7()) as id,
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
  select array_agg((p.n, p.id, s.workflow_id, s.state, s.due_at, false, null)::outbox.store_result order by p.n),
    array_agg(p.id) filter (where p.given and s.state is not null)
    into results, given
  from placed p left join inserted s on s.id = p.id;

  -- Ids that are made here are new; one that the caller chose may belong to an archived message.
  if given is not null then results := outbox.take_back_archived(results, given); end if;

  -- What was not inserted is a repeat of a stored message, or takes an id or a ref that is in use.
  if exists (select from unnest(results) r where r.state is null) then
    results := outbox.resolve_conflicts(p_topic, p_messages, results);
  end if;
  return query select * from unnest(results);
end
$$;

-- Deletes what was stored just now under the id of an archived message, and answers it as not stored.
-- A statement of its own after the insert: one that looked before could miss a row that is archived in between. Where
-- the snapshot is older than the archive's commit (REPEATABLE READ), the row that has gone is still seen in its table.
create function outbox.take_back_archived(p_results outbox.store_result[], p_given uuid[])
returns outbox.store_result[] language plpgsql volatile
as $$
declare
  archived uuid[] := array(select g.id from unnest(p_given) g (id)
    cross join lateral (select from outbox.message_history h where h.id = g.id limit 1) found);
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    archived := archived || array(select m.id from outbox.message m where m.id = any(p_given) and m.xid <> pg_current_xact_id());
  end if;
  if cardinality(archived) = 0 then return p_results; end if;
  delete from outbox.message m where m.id = any(archived) and m.xid = pg_current_xact_id();
  return array(select case when r.id = any(archived) then (r.n, r.id, null, null, null, false, null)::outbox.store_result else r end
    from unnest(p_results) r order by r.n);
end
$$;

-- Answers repeats with the stored message, live or archived. Any refusal takes back what the same call inserted.
create or replace function outbox.resolve_conflicts(p_topic text, p_messages jsonb, p_results outbox.store_result[])
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
  left join lateral (select * from outbox.message_all a where a.id = r.id limit 1) e on true;

  if exists (select from unnest(resolved) r where r.refusal is not null) then
    delete from outbox.message t using unnest(p_results) r where t.id = r.id and r.state is not null;
    return array(select r from unnest(resolved) r where r.refusal is not null);
  end if;
  return resolved;
end
$$;

-- The message that a ref means: the waiting one, else the newest live one, else the newest archived one.
create or replace function outbox.message_of_ref(p_topic text, p_ref text) returns uuid language sql stable
as $$
  select coalesce(
    (select m.id from outbox.message m where m.topic = p_topic and m.ref = p_ref
     order by (m.state = 'waiting') desc, m.created_at desc, m.position desc limit 1),
    (select h.id from outbox.message_history h where h.topic = p_topic and h.ref = p_ref
     order by h.created_at desc, h.position desc limit 1))
$$;

-- Cancels a message by ref or id: 'canceled', 'too-late' or 'unknown'. Provisional until the transaction commits.
create or replace function outbox.cancel(topic text, ref text default null, id uuid default null) returns text language plpgsql volatile
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
  -- The history after the table: what is archived in between is met in one of them.
  if not found then
    select h.state into found_state from outbox.message_history h where h.id = target and h.topic = cancel.topic limit 1;
  end if;
  return case when found_state is null then 'unknown' when found_state = 'canceled' then 'canceled' else 'too-late' end;
end
$$;

-- Moves the due time of a waiting message: 'rescheduled', 'too-late', 'unknown' or 'out-of-range'.
create or replace function outbox.reschedule(
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
  perform from outbox.message m where m.id = target and m.topic = reschedule.topic;
  if found then return 'too-late'; end if;
  perform from outbox.message_history h where h.id = target and h.topic = reschedule.topic;
  return case when found then 'too-late' else 'unknown' end;
end
$$;
