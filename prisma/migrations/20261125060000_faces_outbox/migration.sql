-- Lets status and show tell which relays run and what they reach, and makes the functions for other languages refuse
-- what the library refuses.
-- Locks: no table that exists; the table is new, and statements under way end with the old functions.

-- One row per relay that runs, written by it every few seconds; one that has not been seen for 15 s has died.
create table outbox.relay (
  id         uuid primary key,
  host       text not null,
  pid        integer not null,
  started_at timestamptz not null default clock_timestamp(),
  seen_at    timestamptz not null default clock_timestamp(),
  -- [{"server": "Temporal", "address": …, "error": text or null}, …]
  servers    jsonb not null,
  -- [{"group": …, "topic": …, "messages": n}, …]: what consumer groups have not committed yet.
  lags       jsonb not null
);

-- Why a message cannot be stored, or null. {"code": …, "message": …, "details": …}; codes as in src/core/errors.ts. The
-- limits are those with which a relay was last started, so a raised one has to be told to the database first.
create or replace function outbox.refusal(m jsonb, policy outbox.topic, due timestamptz, now_at timestamptz) returns jsonb language sql stable
as $$
  select case
    when policy.name !~ '^[A-Za-z0-9._-]{1,200}$'
      then jsonb_build_object('code', 'OUTBOX_TOPIC_INVALID', 'message', format('"%s" is no name for a topic.', policy.name))
    when m ->> 'payload' is null
      then jsonb_build_object('code', 'OUTBOX_PAYLOAD_INVALID', 'message', 'The payload is missing.')
    when octet_length(m ->> 'payload') > policy.payload_limit_bytes
      then jsonb_build_object('code', 'OUTBOX_PAYLOAD_TOO_LARGE',
        'message', format('The payload has %s bytes; the database allows %s for the topic "%s".',
          octet_length(m ->> 'payload'), policy.payload_limit_bytes, policy.name),
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
        'message', format('The message would be due %s; the database allows a delay of %s for the topic "%s".',
          due, policy.delay_limit, policy.name))
  end
$$;

-- True for a text that a parser of JSON takes. Versions before 16 have no "is json", so an error of the cast is caught.
create function outbox.is_json(candidate text) returns boolean language plpgsql immutable
as $$
begin
  return candidate::json is not null;
exception when data_exception or statement_too_complex then
  return false;
end
$$;

-- The instant that a text means, or null.
create function outbox.instant_of(candidate text) returns timestamptz language plpgsql stable
as $$
begin
  return candidate::timestamptz;
exception when data_exception then
  return null;
end
$$;

-- What the library refuses before it calls outbox.store, and what is to be refused to callers of other languages as well;
-- null for a message that may be stored as far as its form goes.
create function outbox.form_refusal(m jsonb, policy outbox.topic) returns jsonb language plpgsql stable
as $$
declare
  -- "->>" answers null for anything but an object.
  payload text := m ->> 'payload';
  content_type text := coalesce(m ->> 'contentType', 'application/json');
  unknown text;
begin
  if jsonb_typeof(m) is distinct from 'object' then
    return jsonb_build_object('code', 'OUTBOX_INVALID_OPTION', 'message', 'A message is an object with a payload.');
  end if;
  select k into unknown from jsonb_object_keys(m) k
  where k not in ('payload', 'key', 'ref', 'id', 'headers', 'contentType', 'afterMs', 'at') limit 1;
  if found then
    return jsonb_build_object('code', 'OUTBOX_INVALID_OPTION', 'message', format('"%s" is no option of a message.', unknown));
  end if;
  if m ->> 'id' is not null and m ->> 'id' !~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
    return jsonb_build_object('code', 'OUTBOX_ID_INVALID', 'message', format('The id "%s" is not a UUID.', m ->> 'id'));
  end if;
  if m ->> 'afterMs' is not null and m ->> 'at' is not null then
    return jsonb_build_object('code', 'OUTBOX_INVALID_OPTION', 'message', 'Both a delay and an instant are given.');
  end if;
  if m ->> 'afterMs' is not null and (jsonb_typeof(m -> 'afterMs') <> 'number' or (m ->> 'afterMs')::numeric not between 0 and 1e15) then
    return jsonb_build_object('code', 'OUTBOX_DELAY_OUT_OF_RANGE',
      'message', format('A delay of %s ms is not between now and the longest delay of the topic.', m ->> 'afterMs'));
  end if;
  if m ->> 'at' is not null and coalesce(outbox.instant_of(m ->> 'at') = '-infinity', true) then
    return jsonb_build_object('code', 'OUTBOX_DELAY_OUT_OF_RANGE', 'message', format('"%s" is no instant.', m ->> 'at'));
  end if;
  -- One that is too large is refused for that, and not parsed first.
  if jsonb_typeof(m -> 'payload') = 'string' and octet_length(payload) <= policy.payload_limit_bytes
    and content_type ~* '^application/([a-z0-9.+-]+\+)?json *(;|$)' and not outbox.is_json(payload) then
    return jsonb_build_object('code', 'OUTBOX_PAYLOAD_INVALID', 'message', format('The payload is not JSON, though %s says so.', content_type));
  end if;
  return null;
end
$$;

-- Ends the statement of a caller whose message is refused.
create function outbox.refuse(refusal jsonb, n bigint default null) returns void language plpgsql immutable
as $$
begin
  raise exception 'outbox: %', case when n is null then '' else 'message ' || n || ': ' end || (refusal ->> 'message')
    using errcode = 'OB002', detail = refusal ->> 'code';
end
$$;

-- Stores one message in the current transaction. Raises OB002 when it is refused; the detail is the error code.
create or replace function outbox.send(
  topic text, payload text, key text default null, after interval default null, at timestamptz default null,
  ref text default null, headers jsonb default null, id uuid default null
) returns outbox.stored language plpgsql volatile
as $$
declare
  message jsonb := jsonb_strip_nulls(jsonb_build_object('payload', payload, 'key', key, 'afterMs', extract(epoch from after) * 1000,
    'at', at, 'ref', ref, 'headers', headers, 'id', id));
  refusal jsonb := outbox.form_refusal(message, outbox.policy(topic));
  answer outbox.store_result;
begin
  if refusal is not null then perform outbox.refuse(refusal); end if;
  select * into answer from outbox.store(topic, jsonb_build_array(message));
  if answer.refusal is not null then perform outbox.refuse(answer.refusal); end if;
  return (answer.id, answer.workflow_id, answer.state, answer.due_at, answer.duplicate)::outbox.stored;
end
$$;

-- Stores many messages, all or none, in their order: [{"payload": …, "key"?, "ref"?, "id"?, "headers"?, "contentType"?,
-- "afterMs"? or "at"?}]. Raises OB002 when one is refused.
create or replace function outbox.send_batch(topic text, messages jsonb) returns setof outbox.stored language plpgsql volatile
as $$
declare
  policy outbox.topic := outbox.policy(topic);
  answer outbox.store_result;
  refused record;
begin
  if jsonb_typeof(messages) is distinct from 'array' then
    perform outbox.refuse('{"code": "OUTBOX_INVALID_OPTION", "message": "The messages are not a list."}');
  end if;
  select e.n, e.refusal into refused
  from (select x.n, outbox.form_refusal(x.m, policy) as refusal from jsonb_array_elements(messages) with ordinality x(m, n)) e
  where e.refusal is not null order by e.n limit 1;
  if found then perform outbox.refuse(refused.refusal, refused.n); end if;
  for answer in select * from outbox.store(topic, messages) loop
    if answer.refusal is not null then perform outbox.refuse(answer.refusal, answer.n); end if;
    return next (answer.id, answer.workflow_id, answer.state, answer.due_at, answer.duplicate)::outbox.stored;
  end loop;
end
$$;

-- Raises OB002 unless a message is named as outbox.cancel and outbox.reschedule want it: by its ref, or by its id.
create function outbox.require_handle(topic text, ref text, id uuid) returns void language plpgsql immutable
as $$
begin
  if topic is null or topic !~ '^[A-Za-z0-9._-]{1,200}$' then
    perform outbox.refuse(jsonb_build_object('code', 'OUTBOX_TOPIC_INVALID', 'message', format('"%s" is no name for a topic.', topic)));
  end if;
  if (ref is null) = (id is null) then
    perform outbox.refuse('{"code": "OUTBOX_INVALID_OPTION", "message": "Name the message by its ref or by its id."}');
  end if;
  if octet_length(ref) not between 1 and 256 then
    perform outbox.refuse(jsonb_build_object('code', 'OUTBOX_REF_INVALID', 'message', format('The ref has %s bytes.', octet_length(ref))));
  end if;
end
$$;

-- Cancels a message by ref or id: 'canceled', 'too-late' or 'unknown'. Provisional until the transaction commits. Raises
-- OB002 for a name that none can have.
create or replace function outbox.cancel(topic text, ref text default null, id uuid default null) returns text language plpgsql volatile
as $$
declare
  target uuid;
  found_state outbox.state;
begin
  perform outbox.require_handle(topic, ref, id);
  target := coalesce(cancel.id, outbox.message_of_ref(cancel.topic, cancel.ref));
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

-- Moves the due time of a waiting message: 'rescheduled', 'too-late', 'unknown' or 'out-of-range'. For the library: the
-- answer leaves the transaction usable.
create function outbox.move_due(p_topic text, p_ref text, p_id uuid, p_after interval, p_at timestamptz) returns text
language plpgsql volatile
as $$
declare
  target uuid := coalesce(p_id, outbox.message_of_ref(p_topic, p_ref));
  now_at timestamptz := outbox.clock() + (clock_timestamp() - now());
  due timestamptz := coalesce(p_at, now_at + p_after);
begin
  if due is null or due = '-infinity' or p_after < interval '0' or due > now_at + outbox.exact((outbox.policy(p_topic)).delay_limit) then
    return 'out-of-range';
  end if;
  update outbox.message m set due_at = greatest(due, now_at), updated_at = outbox.clock(),
    workflow_due_at = case when m.workflow_id = outbox.message_workflow_id(m.id) then m.workflow_due_at else greatest(due, now_at) end
  where m.id = target and m.topic = p_topic and m.state = 'waiting';
  if found then return 'rescheduled'; end if;
  perform from outbox.message m where m.id = target and m.topic = p_topic;
  if found then return 'too-late'; end if;
  perform from outbox.message_history h where h.id = target and h.topic = p_topic;
  return case when found then 'too-late' else 'unknown' end;
end
$$;

-- Moves the due time of a waiting message: 'rescheduled', 'too-late' or 'unknown'. Raises OB002 for a time out of range,
-- and for a name that none can have.
create or replace function outbox.reschedule(
  topic text, ref text default null, id uuid default null, after interval default null, at timestamptz default null
) returns text language plpgsql volatile
as $$
declare
  answer text;
begin
  perform outbox.require_handle(topic, ref, id);
  if (after is null) = (at is null) then
    perform outbox.refuse('{"code": "OUTBOX_INVALID_OPTION", "message": "Give a delay or an instant, and not both."}');
  end if;
  answer := outbox.move_due(topic, ref, id, after, at);
  if answer = 'out-of-range' then
    perform outbox.refuse(jsonb_build_object('code', 'OUTBOX_DELAY_OUT_OF_RANGE',
      'message', format('%s is not between now and the longest delay of the topic "%s", %s.', coalesce(after::text, at::text), topic,
        (outbox.policy(topic)).delay_limit)));
  end if;
  return answer;
end
$$;
