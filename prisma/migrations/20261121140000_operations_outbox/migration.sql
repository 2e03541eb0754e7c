-- What operators need: a fuller audit, and an index by which messages that are not simply ready are listed.
-- Locks: adds nullable columns to outbox.audit, briefly. Two indexes on outbox.message keep its writers waiting (SHARE)
-- while each reads the table once, about a second for a million rows. Both are partial: a message that is sent and
-- published is in neither.

-- `details` never holds a payload: hashes, attempt counts, times and ids at most.
alter table outbox.audit
  add column topic text collate "C",
  add column details jsonb;
create index audit_message on outbox.audit (message_id, id) where message_id is not null;
create index audit_topic on outbox.audit (topic, id) where message_id is null;

-- For lists, newest first. Positions are always above 0: the predicate keeps the planner from taking this index for
-- claims, releases and settles, which have their own.
create index message_listed on outbox.message (topic, state, position, id) where state <> 'ready' and position > 0;

-- The hash by which an audit names a text without holding it; null for null.
create function outbox.sha256(content text) returns text language sql immutable
as $$ select encode(sha256(convert_to(content, 'UTF8')), 'hex') $$;

-- What a message became after an edit.
create index message_supersedes on outbox.message (supersedes) where supersedes is not null;

-- The one topic, or all topics of a transport.
create function outbox.topics_of(p_topic text, p_transport text) returns setof text language sql stable
as $$ select t.name from outbox.topic t where t.name = p_topic or t.transport = p_transport $$;
