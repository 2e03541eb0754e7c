-- The schema "outbox", by subject: everything that the library, relays, consumers and operators share.
-- compatible: no
-- Locks: nothing that exists; all objects are new.

-- =====================================================================================================================
-- Foundations
-- =====================================================================================================================

-- Names are resolved by pg_catalog alone, here and at every call: who may create operators in a schema of a caller's search path
-- must not run code as that caller. So functions set the search path. Those that are inlined, or called so often that this would
-- show, have operators and arguments of exactly the types that pg_catalog has, or are called by others alone.
select set_config('outbox.search_path', current_setting('search_path'), true), set_config('search_path', 'pg_catalog, pg_temp', true);

create schema outbox;

-- The clock for every decision about time. Tests replace it to follow skipped time.
create function outbox.clock() returns timestamptz language sql stable
as $$ select now() $$;

-- True if a time is less than p_ms away from now, in the past or in the future. A time further ahead was written before the clock was set
-- back, and must not hold up anything for as long as the clock was wrong. One just ahead may be of a clock that was set back by little: it
-- counts as now, so that nobody does at once what somebody has just begun.
create function outbox.lately(p_at timestamptz, p_ms float8) returns boolean language sql volatile
as $$ select p_at > clock_timestamp() - p_ms * interval '1 ms' and p_at <= clock_timestamp() + p_ms * interval '1 ms' $$;

-- UUID version 7: 48 bits of milliseconds, then random bits. Servers before version 18 have none of their own.
create function outbox.uuid_v7() returns uuid language sql volatile
as $$
  select encode(
    set_bit(set_bit(
      overlay(uuid_send(gen_random_uuid())
        placing substring(int8send((extract(epoch from clock_timestamp()) * 1000::numeric)::bigint) from 3) from 1 for 6),
      52, 1), 53, 1),
    'hex'::text)::uuid
$$;

-- The hash of a text; null for null.
create function outbox.sha256(content text) returns text language sql immutable
as $$ select encode(sha256(convert_to(content, 'UTF8'::name)), 'hex'::text) $$;

-- The interval in seconds: days of 24 hours, even if a session's time zone has one of 23.
create function outbox.exact(length interval) returns interval language sql immutable
as $$ select make_interval(secs => extract(epoch from length)::float8) $$;

-- =====================================================================================================================
-- This database: its schema, its identity, its relays
-- =====================================================================================================================

-- The migrations that this database has. `compatible`: programs older than the migration work with it.
create table outbox.migration (
  name       text collate "C" primary key,
  -- SHA-256 of the file.
  checksum   text not null,
  compatible boolean not null,
  applied_at timestamptz not null default now()
);

-- One row: the identity of this database. Ids of workflows and task queues contain the id, so that two databases in one
-- Temporal namespace never collide; the other columns distinguish a restored copy from the original.
create table outbox.installation (
  only_one          boolean primary key default true check (only_one),
  id                uuid not null default gen_random_uuid(),
  system_identifier text not null,
  database_oid      oid not null,
  -- Start time of the server that the last relay used. It differs after a restart or failover, and in a clone.
  served_since      timestamptz,
  -- The last sighting of another running database of this installation: {"place": …, "seenAt": …}.
  twin              jsonb,
  created_at        timestamptz not null default now()
);
insert into outbox.installation (system_identifier, database_oid)
select (select system_identifier::text from pg_control_system()), (select oid from pg_database where datname = current_database());

-- Nobody can work with what lacks these rows, and no program notices soon that they are gone: sends would be stored, and never go.
-- Cleaners of test suites, which empty all tables that they find, are therefore refused; also those that switch triggers off.
create function outbox.refuse_emptying() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception 'outbox: % must keep its rows', tg_relid::regclass
    using errcode = 'OB004', hint = 'Exclude the schema outbox from what empties tables, such as the cleaner of a test suite.';
end
$$;
create trigger emptied before delete or truncate on outbox.installation execute function outbox.refuse_emptying();
create trigger emptied before truncate on outbox.migration execute function outbox.refuse_emptying();
alter table outbox.installation enable always trigger emptied;
alter table outbox.migration enable always trigger emptied;

-- Questions between relays: is this row in the database that you write to? The relay that asks inserts and deletes it.
create table outbox.place_question (
  id          uuid primary key,
  asked_at    timestamptz not null default now(),
  answered_at timestamptz
);

-- One row per running relay, which writes it every few seconds; a relay that has not done so for 15 s has died.
create table outbox.relay (
  id         uuid primary key,
  host       text not null,
  pid        integer not null,
  started_at timestamptz not null default clock_timestamp(),
  seen_at    timestamptz not null default clock_timestamp(),
  -- [{"server": "Temporal", "address": …, "error": text or null}, …]
  servers    jsonb not null,
  -- [{"group": …, "topic": …, "messages": n}, …]: the lags of consumer groups.
  lags       jsonb not null,
  -- [{"server": "kafka", "whose": "client" or "authority", "until": ISO time}, …]: when certificates expire that it has loaded.
  certificates jsonb not null default '[]',
  -- How far the clock of the host is ahead of the database's, in milliseconds.
  clock_offset_ms float8 not null
);

-- The looks of relays at the consumer groups of an address: one relay looks for all that send there. Not by topics, because relays may
-- have different ones.
create table outbox.group_look (
  -- Name of the transport in the configuration.
  transport text collate "C" not null,
  address   text collate "C" not null,
  number    bigint not null,
  began_at  timestamptz not null,
  primary key (transport, address)
);

-- Consumer groups for which messages waited at the last look of a relay, for the hook that tells of those that stand still.
create table outbox.group_place (
  transport      text collate "C" not null,
  address        text collate "C" not null,
  consumer_group text collate "C" not null,
  -- Number of the look that this is from; earlier ones, which took longer, change nothing.
  look           bigint not null default 0,
  -- When a look last saw that messages wait for the group.
  looked_at      timestamptz not null default clock_timestamp(),
  -- {"0": {"at": the first offset that it has not committed, "sinceMs": …, "standsMs": how long it stood there at the last look}, …}:
  -- by partition, if messages wait there.
  places         jsonb not null default '{}',
  primary key (transport, address, consumer_group)
);

-- One row: what one relay has last read for all, for metrics and alerts. The number is that of the last reading that has begun.
create table outbox.figures (
  only_one boolean primary key default true check (only_one),
  number   bigint not null,
  began_at timestamptz not null,
  -- The reading that the figures are of, and when they were noted; null: none yet.
  noted    bigint,
  noted_at timestamptz,
  figures  jsonb,
  -- The reading by which alerts were judged last.
  judged   bigint not null default 0
);

-- The alerts of relays: one row per rule and subject that fires, or has fired lately.
create table outbox.alert (
  rule    text collate "C" not null,
  -- What it is about, such as "topic orders"; empty: the whole installation.
  subject text collate "C" not null,
  -- The same for programs, such as {"topic": "orders"}.
  labels  jsonb not null,
  since   timestamptz not null,
  -- Readings of the figures in a row in which it did not fire.
  calm    integer not null default 0,
  -- The first of them; null: it fired in the last one.
  calm_since timestamptz,
  -- When it ended; null: it goes on.
  over_at timestamptz,
  figure  float8 not null,
  -- The figure in a sentence, and the command to run.
  text    text not null,
  next    text not null,
  -- The number of its news (it has begun, goes on, is over), and when the last of them came.
  news    bigint not null default 1,
  news_at timestamptz not null,
  -- The number of the news that it has begun, for the last time: who was told only of earlier ones knows nothing of it.
  began_news bigint not null default 1,
  -- {"<destination>": the number of the news that was told there last}
  told    jsonb not null default '{}',
  -- When somebody was last told of it since it has begun for the last time.
  told_at timestamptz,
  primary key (rule, subject)
);

-- The number of the news of an alert for which `onAlert` was called last. Apart, because its call may take long, and whoever notes
-- alerts waits for nobody.
create table outbox.alert_call (
  rule    text collate "C" not null,
  subject text collate "C" not null,
  news    bigint not null,
  primary key (rule, subject)
);

-- Rules that tell nobody for a while.
create table outbox.alert_silence (
  rule   text collate "C" primary key,
  until  timestamptz not null,
  actor  text not null,
  reason text
);

-- Where relays tell alerts: one relay at a time tells a destination.
create table outbox.alert_destination (
  name         text collate "C" primary key,
  leased_until timestamptz not null default '-infinity',
  told_at      timestamptz,
  -- Failures since it was last told, and the text of the last one.
  failures     integer not null default 0,
  error        text
);

-- Limits and durations of the relay that was started last, for display.
create table outbox.setting (
  name       text collate "C" primary key,
  -- In words, for example "60 s" or "2000 messages".
  value      text not null,
  updated_at timestamptz not null default now()
);

-- =====================================================================================================================
-- Topics
-- =====================================================================================================================

-- A transport that an operator may pause, with all topics that use it. A transport without a row is not paused.
create table outbox.transport (
  name       text collate "C" primary key,
  paused     boolean not null default false,
  updated_at timestamptz not null default now()
);

-- The policy of a topic, written by relays and by `migrate --topics`; a topic without a row has the defaults.
create table outbox.topic (
  name                text collate "C" primary key,
  transport           text not null,
  address             text not null,
  lanes               integer not null default 1 check (lanes between 1 and 1024),
  partitions          integer check (partitions > 0),
  timer               text not null default 'workflow' check (timer in ('workflow', 'lane')),
  retry_ms            bigint[] not null,
  exhausted           text not null default 'release-key' check (exhausted in ('release-key', 'block-key')),
  -- All or none set: the consumer group whose receipt counts, how long it may take after each send (the last value for all
  -- further ones), and how often a message is sent before it fails.
  confirm_group       text,
  receipt_timeout_ms   bigint[],
  confirm_max_sends   integer check (confirm_max_sends between 1 and 100),
  -- All or none set: at most so many messages in any time of this length, of the topic, or of all topics of its address that have a
  -- rate of the address.
  rate_messages       integer check (rate_messages > 0),
  rate_per_ms         bigint check (rate_per_ms > 0),
  rate_of             text check (rate_of in ('topic', 'address')),
  horizon             interval not null default '24 hours',
  payload_limit_bytes integer not null default 921600,
  delay_limit         interval not null default '400 days',
  visible             boolean not null default true,
  paused              boolean not null default false,
  updated_at          timestamptz not null default now(),
  constraint confirm_whole check (num_nulls(confirm_group, receipt_timeout_ms, confirm_max_sends) in (0, 3)),
  constraint rate_whole check (num_nulls(rate_messages, rate_per_ms, rate_of) in (0, 3))
);

create trigger emptied before truncate on outbox.topic execute function outbox.refuse_emptying();
alter table outbox.topic enable always trigger emptied;

-- What the rate of a topic or an address has let go lately, whichever relay sent it.
create table outbox.rate (
  -- The name of the topic; for an address, the transport and a hash of the address, with a space between them. It has one row.
  scope   text collate "C" not null,
  -- Renewed by every write: while an old snapshot exists, what finds the newest version first reads no other one.
  n       bigint not null generated always as identity,
  sent_at timestamptz[] not null default '{}',
  counts  integer[] not null default '{}',
  primary key (scope, n)
) with (fillfactor = 50);

-- A change that is in progress. This row pauses its topic, not a flag, so that no operator can resume the topic meanwhile.
create table outbox.topic_change (
  topic    text collate "C" primary key,
  -- Identifies the change: a call whose change was replaced must not continue the next change of the same topic.
  id       uuid not null default gen_random_uuid(),
  kind     text not null check (kind in ('lanes', 'partitions')),
  wanted   integer not null check (wanted > 0),
  -- 'begun': deliveries are being stopped. 'switched': the new number of lanes applies, rows may still be in old ones.
  step     text not null default 'begun' check (step in ('begun', 'switched')),
  -- Of the transactions that ran, or were prepared, when it was first asked after the switch, those that still do and are; null: not
  -- asked yet.
  running  text[],
  prepared text[],
  -- How far its messages have been looked through: complete walks, the cursor of the next one, and those that somebody held.
  walks    integer not null default 0,
  cursor   text,
  skipped  uuid[] not null default array[]::uuid[],
  actor    text not null,
  begun_at timestamptz not null default now()
);

-- The policy of a topic, or the defaults, without a transport, if no relay has announced it.
create function outbox.policy(p_topic text) returns outbox.topic language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  policy outbox.topic;
begin
  select * into policy from outbox.topic t where t.name = p_topic;
  if not found then
    policy.name := p_topic;
    policy.lanes := 1;
    policy.timer := 'workflow';
    policy.payload_limit_bytes := 921600;
    policy.delay_limit := '400 days';
  end if;
  return policy;
end
$$;

-- The row of `outbox.rate` that a topic's rate is counted in.
create function outbox.rate_scope(policy outbox.topic) returns text language sql immutable
as $$ select case when policy.rate_of = 'address' then policy.transport || ' ' || outbox.sha256(policy.address) else policy.name end $$;

-- How many messages the topic's rate lets go at this time, and the milliseconds until it lets the next one go; null: it has no rate.
create function outbox.rate_left(p_topic text, p_at timestamptz, out free integer, out wait_ms float8) language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  policy outbox.topic := outbox.policy(p_topic);
  per interval := policy.rate_per_ms * interval '1 ms';
begin
  if policy.rate_messages is null then return; end if;
  -- `newer`: what is still counted once this entry and all older ones are not.
  select greatest(policy.rate_messages - coalesce(max(e.newer + e.count), 0), 0),
    coalesce(min(extract(epoch from e.sent_at + per - p_at) * 1000)
      filter (where e.newer < policy.rate_messages and e.whole >= policy.rate_messages), 0)
  into free, wait_ms
  from (
    select x.sent_at, x.count, sum(x.count) over (order by x.sent_at desc, x.n desc) - x.count as newer, sum(x.count) over () as whole
    from (select o.sent_at, o.counts from outbox.rate o where o.scope = outbox.rate_scope(policy) order by o.n desc limit 1) r,
      unnest(r.sent_at, r.counts) with ordinality x (sent_at, count, n)
    where x.sent_at > p_at - per
  ) e;
end
$$;

-- Lets up to `p_most` messages of a topic go now, at most the share of one lane, so that lanes take turns; with 0, the milliseconds
-- after which to ask again. They count from here on, whether or not they are sent.
--
-- In any time of the length of the rate at most its number of messages is let go. Above 100 messages, times are rounded up to a
-- fiftieth of that length, which bounds the row, and costs at most a fiftieth of the rate.
--
-- Why the server's clock: as for leases, time that is skipped must not count. Why a locked row is skipped: a relay that waits for a
-- lock keeps a connection from other topics.
create function outbox.take_rate(p_topic text, p_most integer, out granted integer, out wait_ms float8) language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  policy outbox.topic := outbox.policy(p_topic);
  v_scope text := outbox.rate_scope(policy);
  own_ctid tid;
  moved_ctid tid;
  now_at timestamptz;
  counted_at timestamptz;
  slot float8 := case when policy.rate_messages > 100 then policy.rate_per_ms / 50000.0 end;
  kept interval;
  recent interval;
  step float8;
begin
  granted := p_most;
  wait_ms := 0;
  if policy.rate_messages is null then return; end if;
  select r.ctid into own_ctid from outbox.rate r where r.scope = v_scope order by r.n desc limit 1 for update skip locked;
  if not found then
    -- No constraint says that there is one row: the index that it needs would be read for every write. Two keys: others have one.
    if pg_try_advisory_xact_lock(hashtext('outbox.rate'), hashtext(v_scope)) then
      insert into outbox.rate (scope) select v_scope where (select r.n from outbox.rate r where r.scope = v_scope order by r.n desc limit 1) is null;
    end if;
    granted := 0;
    wait_ms := 5;
    return;
  end if;
  now_at := clock_timestamp();
  counted_at := case when slot is null then now_at else to_timestamp(ceil(extract(epoch from now_at) / slot) * slot) end;
  -- A clock that was set back must not stop the topic for as long as it was wrong.
  update outbox.rate r set n = default, sent_at = (select array_agg(least(x.at, counted_at) order by x.n) from unnest(r.sent_at) with ordinality x (at, n))
  where r.ctid = own_ctid and counted_at < any (r.sent_at) returning r.ctid into moved_ctid;
  select least(p_most, l.free, (policy.rate_messages + policy.lanes - 1) / policy.lanes), l.wait_ms
  into granted, wait_ms from outbox.rate_left(p_topic, now_at) l;
  if granted = 0 then return; end if;
  -- What is older than the shortest time counts for longer ones only: there a fiftieth is precise enough, which bounds the row.
  select max(t.rate_per_ms) * interval '1 ms', min(t.rate_per_ms) * interval '1 ms', max(t.rate_per_ms) / 50000.0
  into kept, recent, step from outbox.topic t
  where t.name = p_topic or t.rate_of = 'address' and outbox.rate_scope(t) = v_scope;
  update outbox.rate r set n = default, (sent_at, counts) = (
    select array_agg(e.at order by e.at), array_agg(e.count order by e.at) from (
      select x.at, sum(x.count)::integer as count from (
        select case when y.at >= now_at - recent then y.at
            else least(to_timestamp(ceil(extract(epoch from y.at) / step) * step), now_at - recent) end as at, y.count
        from unnest(r.sent_at, r.counts) y (at, count) where y.at > now_at - kept
        union all select counted_at, granted
      ) x group by x.at
    ) e)
  where r.ctid = coalesce(moved_ctid, own_ctid);
end
$$;

-- True if an operator has paused the topic or its transport, or while the number of its lanes or partitions changes.
-- Every claim calls this: plpgsql caches the plan per connection, while an SQL function would be planned at every call
-- (0.02 ms instead of 0.15).
create function outbox.is_paused(p_topic text) returns boolean language plpgsql stable
as $$
begin
  return exists (select from outbox.topic_change c where c.topic = p_topic)
    or coalesce((select t.paused or coalesce(x.paused, false)
      from outbox.topic t left join outbox.transport x on x.name = t.transport where t.name = p_topic), false);
end
$$;

-- The one topic, or all topics of a transport.
create function outbox.topics_of(p_topic text, p_transport text) returns setof text language sql stable
as $$ select t.name from outbox.topic t where t.name = p_topic or t.transport = p_transport $$;

-- =====================================================================================================================
-- Messages
-- =====================================================================================================================

create type outbox.state as enum (
  'waiting', 'ready', 'blocked', 'retrying', 'published', 'confirmed', 'failed', 'canceled', 'superseded', 'discarded', 'expired'
);

-- One sequence for all lanes. CACHE 1: with a cached block a later transaction could take a lower position.
create sequence outbox.message_position as bigint cache 1;

-- Messages that are more than a line of the log: waiting, retrying, blocked, failed, ended by hand, with a ref, with an id of
-- their sender, or with receipts. Its children are the leaves of the log, with the same columns, so `outbox.message` reads every live
-- message, and `only outbox.message` these alone. Ids are unique in this table; the log has none but generated ones.
create table outbox.message (
  id              uuid primary key,
  topic           text collate "C" not null,
  lane            integer not null,
  position        bigint not null default nextval('outbox.message_position'),
  xid             xid8 not null default pg_current_xact_id(),
  key             text collate "C",
  ref             text collate "C",
  payload         text not null,
  -- Null in the log: JSON.
  content_type    text default 'application/json',
  headers         jsonb,
  state           outbox.state not null,
  -- Null in the log: that of the lane.
  workflow_id     text,
  due_at          timestamptz,
  -- The due time that its own workflow was last given; equal to due_at if it has no workflow of its own.
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
  supersedes      uuid,
  -- Null unless the message is failed; then whether the hook of a relay has been called.
  notified        boolean,
  -- What is not published by then ends as expired; null: never, as in the log.
  expires_at      timestamptz,
  -- The due time before any message replaced it: that of its sender, or of the last reschedule. Only with a ref.
  first_due_at    timestamptz,
  -- When an operator removed its payload, headers and errors; null: nobody has.
  expunged_at     timestamptz
) with (fillfactor = 90, autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 500,
        autovacuum_vacuum_insert_scale_factor = 0.1);

-- After bulk loads a sample contains few distinct transactions, and the planner would not use the index; for the queries of
-- this table the right assumption is few rows per transaction.
alter table outbox.message alter column xid set (n_distinct = -1);
alter table outbox.message alter column xid set statistics 1;

-- For claims. Only ready rows: a million waiting messages must not slow down a claim, and a published row stays ready. The
-- predicate `position > 0` prevents the planner from using the first index for the late rows of a lane: on a table that has not
-- been analyzed both seem to cost the same, and it would read everything that the lane has published.
create index message_lane_position on outbox.message (topic, lane, position) where state = 'ready' and position > 0;
create index message_lane_xid on outbox.message (topic, lane, xid) where state = 'ready';

-- For looks: rows that are new since the last look of a relay, over all lanes. Positions are always above 0: the predicate
-- prevents the planner from using this index for the late rows of one lane, where it would read the news of all others.
create index message_xid on outbox.message (xid) where position > 0;

-- For the order of a key. Failed messages, which also block it, have an index of their own: they are kept for ever, and block
-- nothing under release-key. Blocked messages are walked from key to key.
create index message_blocking on outbox.message (topic, lane, key, position) where state in ('retrying', 'blocked');
create index message_blocked on outbox.message (topic, lane, key, position) where state = 'blocked';
create index message_failed on outbox.message (topic, lane, key, position) where state = 'failed';

-- For the hook of relays: failed messages that it was not called for, in the order of positions.
create index message_unnotified on outbox.message (position) where not notified;

-- For releases. Messages that are due at the same time are released in the order of positions, without a sort.
create index message_due on outbox.message (due_at, position) where state in ('waiting', 'retrying');

-- To start and to compare workflows: messages whose own workflow was not started yet, by topic because each has a horizon of its
-- own, and those whose workflow was, in the order of their due times.
create index message_untold on outbox.message (topic, due_at)
  where state in ('waiting', 'retrying') and workflow_due_at is distinct from due_at;
create index message_told on outbox.message (due_at, id)
  where state in ('waiting', 'retrying') and workflow_due_at is not null and workflow_id like '%/message/%';

-- For cancel and reschedule, and for the waiting messages of a key in the order of their due times; those in other states come last.
-- The predicate `lane >= 0` keeps the first index from claims.
create index message_open_key on outbox.message (topic, key, (case when state = 'waiting' then due_at end), position)
  where state in ('waiting', 'retrying', 'blocked') and key is not null and lane >= 0;
create unique index message_waiting_ref on outbox.message (topic, ref) where state = 'waiting';
create index message_ref on outbox.message (topic, ref, created_at) where ref is not null;

-- For confirmation: published rows without a receipt, the longest overdue first; and the same rows by key, because a message
-- is sent again only together with, or after, the earlier ones of its key. The predicate `position > 0` prevents the planner
-- from using the first index for the earlier rows of one key, where it would read all others.
create index message_overdue on outbox.message (topic, confirm_by, position)
  where state = 'published' and confirm_by is not null and position > 0;
create index message_unconfirmed on outbox.message (topic, key, position)
  where state = 'published' and confirm_by is not null;

-- For lists, newest first. The predicate `position > 0` prevents the planner from using this index for claims, releases and
-- settles, which have their own.
create index message_listed on outbox.message (topic, state, position, id) where state <> 'ready' and position > 0;

-- The copy of a message after an edit.
create index message_supersedes on outbox.message (supersedes) where supersedes is not null;

-- For the archive: finished rows by age. Rows that their lanes have merely passed are ready, and found by position.
create index message_finished on outbox.message (state, updated_at, id)
  where state in ('published', 'confirmed', 'failed', 'canceled', 'superseded', 'discarded', 'expired');

-- For blocked messages that expire. Those in other states are ended by the claim of their lane.
create index message_expiring on outbox.message (expires_at, id) where state = 'blocked' and expires_at is not null and published_at is null;

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

-- For messages of the outbox, and for kept messages, whose id column has another name.
create function outbox.refuse_transition() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception 'outbox: % cannot become %', old.state, new.state
    using errcode = 'OB001', detail = 'message ' || coalesce(to_jsonb(new) ->> 'message_id', to_jsonb(new) ->> 'id'),
      hint = 'The legal transitions are listed in docs/states.md.';
end
$$;

-- The legal changes of state, as in src/core/transitions.ts. A legal change does not call the function.
create trigger message_transition before update of state on outbox.message for each row
when (old.state is distinct from new.state and not (
     old.state = 'waiting'   and new.state in ('ready', 'canceled')
  or old.state = 'ready'     and new.state in ('published', 'retrying', 'blocked', 'failed', 'confirmed', 'canceled', 'expired')
  or old.state = 'blocked'   and new.state in ('ready', 'canceled', 'expired')
  or old.state = 'retrying'  and new.state in ('ready', 'failed', 'confirmed', 'canceled')
  or old.state = 'published' and new.state in ('ready', 'failed', 'confirmed')
  or old.state = 'failed'    and new.state in ('ready', 'confirmed', 'superseded', 'discarded')
  or old.state = 'expired'   and new.state = 'confirmed'
))
execute function outbox.refuse_transition();

create function outbox.note_failure() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  new.notified := case when new.state = 'failed' then false end;
  return new;
end
$$;

-- Every way into `failed` asks for a notice, and every way out of it takes that back.
create trigger message_failure before update of state on outbox.message for each row
when (old.state is distinct from new.state and 'failed' in (old.state, new.state))
execute function outbox.note_failure();

create function outbox.due_by_expiry() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if new.workflow_due_at = new.due_at then new.workflow_due_at := new.expires_at; end if;
  new.due_at := new.expires_at;
  return new;
end
$$;

-- A retry after the expiry would keep a message, and its key, for nothing: it is released at its expiry, and its lane ends it.
create trigger message_due_by_expiry before insert or update of due_at on outbox.message for each row
when (new.due_at > new.expires_at and new.published_at is null)
execute function outbox.due_by_expiry();

create function outbox.refuse_insert() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception 'outbox: a message cannot begin as %', new.state using errcode = 'OB001', detail = 'message ' || new.id;
end
$$;

create trigger message_insert before insert on outbox.message for each row
when (new.state not in ('waiting', 'ready'))
execute function outbox.refuse_insert();

-- =====================================================================================================================
-- The log
-- =====================================================================================================================

-- Messages that can go now and have nothing special: one insert each, and no other write if all goes well. They lie in leaves,
-- tables outbox.log_<n> that are children of one of the three tables below. Senders write to the current leaf; it is closed after
-- some time, and then moves on as a whole. A message that becomes an exception moves to outbox.message.

-- The constraints of the parents say that they have no rows, in a way that the planner can use: these columns are never null.
--
-- Leaves that claims read: the current one, and those that some lane has not passed yet.
create table outbox.log (constraint log_empty check (id is null and topic is null and xid is null and state is null) no inherit) inherits (outbox.message);
-- Without a primary key a row of a publication could not be deleted otherwise.
alter table outbox.log replica identity full;

-- Leaves that every lane has passed: their messages are published.
create table outbox.log_passed (constraint log_passed_empty check (id is null and topic is null and xid is null and state is null) no inherit) inherits (outbox.message);
alter table outbox.log_passed replica identity full;

-- Leaves whose messages are archived.
create table outbox.log_history (like outbox.message, constraint log_history_empty check (id is null and topic is null) no inherit);

-- A table that never had a child is planned without any. A query that is planned while a leaf moves there, the first one, would find its
-- messages nowhere: so both have had one.
create table outbox.log_0 () inherits (outbox.log_passed);
alter table outbox.log_0 no inherit outbox.log_passed;
alter table outbox.log_0 inherit outbox.log_history;
drop table outbox.log_0;

create table outbox.leaf (
  n           bigint primary key check (n > 0),
  opened_at   timestamptz not null,
  -- When the next one was opened; null: the current one.
  closed_at   timestamptz,
  -- Of the transactions that ran after it had been closed, those that still run, and may write to it; null: not asked yet, empty: it is
  -- sealed.
  running     text[],
  -- Of a leaf that every lane has passed: the number of its messages, and when the last one was sent.
  messages    bigint,
  newest_at   timestamptz,
  archived_at timestamptz,
  -- When the last dropped leaf that this row knows of was archived: of those dropped while this leaf was the latest, and those that their
  -- rows knew of.
  dropped_to  timestamptz
);
create unique index leaf_current on outbox.leaf ((true)) where closed_at is null;
create trigger emptied before truncate on outbox.leaf execute function outbox.refuse_emptying();
create trigger current_gone before delete on outbox.leaf for each row when (old.closed_at is null) execute function outbox.refuse_emptying();
alter table outbox.leaf enable always trigger emptied, enable always trigger current_gone;

create function outbox.refuse_in_log() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception 'outbox: a message of the log cannot become %', new.state
    using errcode = 'OB001', detail = 'message ' || new.id, hint = 'outbox.take_out moves it to outbox.message first.';
end
$$;

-- Lets those store in the current leaf who may insert into outbox.message. To be called after such a grant; a new leaf has it.
create function outbox.grant_log() returns void language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  leaf text := 'outbox.log_' || (select l.n from outbox.leaf l where l.closed_at is null);
  sender oid;
begin
  for sender in select distinct a.grantee from pg_class c cross join lateral aclexplode(c.relacl) a
    where c.oid = 'outbox.message'::regclass and a.privilege_type = 'INSERT' and a.grantee <> c.relowner loop
    -- To return what was inserted takes the right to select it.
    execute format('grant select, insert on %s to %s', leaf, case when sender = 0 then 'public' else sender::regrole::text end);
  end loop;
end
$$;

-- Creates the table of a leaf, with the four indexes of outbox.message that a ready message enters, unless it is there.
-- Autovacuum leaves it alone after mere inserts: to mark and freeze its rows would write each page to the WAL once more.
create function outbox.create_leaf(p_n bigint) returns void language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  leaf text := 'outbox.log_' || p_n;
begin
  perform pg_advisory_xact_lock(hashtextextended('outbox.leaf', 0));
  if exists (select from pg_class c where c.relnamespace = 'outbox'::regnamespace and c.relname = 'log_' || p_n) then return; end if;
  execute format($ddl$
    create table %1$s () inherits (outbox.log) with (autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 500,
      autovacuum_vacuum_insert_threshold = -1);
    alter table %1$s alter state set default 'ready', alter content_type drop default, alter xid set (n_distinct = -1), alter xid set statistics 1;
    create index on %1$s (id);
    create index on %1$s (topic, lane, position) where state = 'ready' and position > 0;
    create index on %1$s (topic, lane, xid) where state = 'ready';
    create index on %1$s (xid) where position > 0;
    alter table %1$s replica identity full;
    create trigger log_state before update of state on %1$s for each row
    when (new.state <> 'ready') execute function outbox.refuse_in_log();
    alter table %1$s disable row level security;
    alter table %1$s owner to %2$s;
  $ddl$, leaf, (select c.relowner::regrole from pg_class c where c.oid = 'outbox.message'::regclass));
end
$$;
select outbox.create_leaf(1);
insert into outbox.leaf (n, opened_at) values (1, outbox.clock());

-- Moves messages from the log to outbox.message, before they are changed. Nothing about them changes: claims, cursors and snapshots see
-- them as before.
create function outbox.take_out(p_ids uuid[]) returns void language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
begin
  with live as (delete from outbox.log m where m.id = any(p_ids) returning m.*),
    passed as (delete from outbox.log_passed m where m.id = any(p_ids) returning m.*)
  insert into outbox.message (id, topic, lane, position, xid, key, ref, payload, content_type, headers, state, workflow_id,
    maybe_published, created_at, updated_at, published_at, expunged_at)
  select t.id, t.topic, t.lane, t.position, t.xid, t.key, t.ref, t.payload, coalesce(t.content_type, 'application/json'), t.headers, t.state,
    coalesce(t.workflow_id, outbox.lane_workflow_id(t.topic, t.lane)), t.maybe_published, t.created_at, t.updated_at, t.published_at,
    t.expunged_at
  from (select * from live union all select * from passed) t
  -- A sender that repeats an id before its first try is committed stores it twice. What is beside the log stays, or nothing could be taken
  -- out of the log here any more.
  on conflict (id) do nothing;
end
$$;

-- Keys of a lane that may be free again: what blocked their messages is over. The owner of the lane looks at each once, however many
-- keys are blocked beside it, and deletes its rows.
create table outbox.freed_key (
  -- The same key may be freed again while its owner looks at it.
  id    bigint generated always as identity primary key,
  topic text collate "C" not null,
  lane  integer not null,
  key   text collate "C" not null,
  -- The transaction that has put it in this lane.
  xid   xid8 not null default pg_current_xact_id()
);
-- By transaction for claims, by key for releases of many. Ids are always above 0: the predicate prevents the planner from using the second
-- one for the first question, where it would read what an old snapshot keeps.
create index freed_key_xid on outbox.freed_key (topic, lane, xid);
create index freed_key_key on outbox.freed_key (topic, lane, key, id) where id > 0;

-- Notes that a retrying or failed message has ended, or is to be sent again. Usually nothing is blocked behind it. A cancel may have
-- begun long before something is, and commit later; other changes take milliseconds, and outbox.walk_blocked finds what they miss.
--
-- Why `security definer`: a service that may change messages needs no right to this table.
create function outbox.note_freed() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
  if new.state = 'canceled' or (select h.id from only outbox.message h
    where h.topic = new.topic and h.lane = new.lane and h.state = 'blocked' and h.key = new.key order by h.position limit 1) is not null then
    insert into outbox.freed_key (topic, lane, key) values (new.topic, new.lane, new.key);
  end if;
  return null;
end
$$;

create trigger message_freed after update of state on outbox.message for each row
when (old.state in ('retrying', 'failed') and new.state <> old.state and new.key is not null)
execute function outbox.note_freed();

-- Asked for when a trigger is made, not when it fires: nobody else's table may note keys here.
revoke execute on function outbox.note_freed() from public;

-- =====================================================================================================================
-- Lanes
-- =====================================================================================================================

-- The owner and the progress of a lane. `cursor` and `snapshot` together determine exactly which ready rows are published; while a lane
-- sends more late rows than one batch has, `late_cursor` and `late_snapshot` say which of them are, too: see outbox.is_passed.
create table outbox.lane (
  topic        text collate "C" not null,
  n            integer not null,
  cursor       bigint not null default 0,
  snapshot     pg_snapshot,
  late_cursor   bigint,
  late_snapshot pg_snapshot,
  owner        uuid,
  alive_until  timestamptz,
  -- The incarnation of the server in which the owner took the lane.
  incarnation  timestamptz,
  -- Key of the advisory lock that the session of the owner's process holds; null: it has none, and only its lease counts.
  session      bigint,
  -- Rows visible in this snapshot may have been published by a dead owner: they can no longer be canceled.
  suspect      pg_snapshot,
  -- Of the freed keys that are visible in it none is left: see outbox.freed_since.
  freed_snapshot pg_snapshot,
  -- The last transaction that has made one of its messages retrying or blocked, or may have; null: none of them is. The same of failed
  -- ones, which only where they block their keys are ever found to be none. See outbox.none_left.
  blocking_xid xid8 default pg_current_xact_id(),
  failed_xid   xid8 default pg_current_xact_id(),
  -- Why the lane waits, and since when: it outlives the owner, and ends when an owner sends, or finds nothing to send.
  hold         jsonb,
  wanted_since timestamptz,
  started_at   timestamptz,
  -- The ids of the first and the last attempt whose failure its owner has settled and not told yet; null: it has told all.
  untold_from  bigint,
  untold_to    bigint,
  primary key (topic, n)
) with (fillfactor = 50);
create trigger emptied before truncate on outbox.lane execute function outbox.refuse_emptying();
alter table outbox.lane enable always trigger emptied;

-- One row per settled batch.
create table outbox.batch (
  -- Chosen by the owner of the lane, so that a settle whose answer was lost can be repeated.
  id             uuid primary key,
  topic          text collate "C" not null,
  lane           integer not null,
  first_position bigint not null,
  last_position  bigint not null,
  count          integer not null,
  published_at   timestamptz not null,
  -- {"<partition>": {"first": "<offset>", "count": n}}; empty if the transport has no offsets.
  partitions     jsonb not null
);
create index batch_lane on outbox.batch (topic, lane, last_position);
-- For the position of a lane at some time.
create index batch_lane_time on outbox.batch (topic, lane, published_at);

-- Lanes are computed only here: two languages or two configurations must not disagree about a key.
create function outbox.lane_of(key text, id uuid, lanes integer) returns integer language sql immutable
as $$
  select case when lanes = 1 then 0
    else (('x' || substr(md5(coalesce(key, id::text)), 1, 8))::bit(32)::bigint % lanes::bigint)::integer end
$$;

create function outbox.lane_workflow_id(topic text, lane integer) returns text language sql stable
as $$ select (select i.id::text from outbox.installation i) || '/lane/' || topic || '/' || lane::text $$;

create function outbox.message_workflow_id(id uuid) returns text language sql stable
as $$ select (select i.id::text from outbox.installation i) || '/message/' || id::text $$;

-- The incarnation of this server, which changes with every start, failover and crash. All statistics are reset when a crash
-- has ended every session without ending the server.
create function outbox.incarnation() returns timestamptz language sql stable
as $$ select greatest(pg_postmaster_start_time(), pg_stat_get_bgwriter_stat_reset_time()) $$;

-- True while the advisory lock of this key is held, that is, while the session that took it lives. No other session ever takes
-- it; the shared lock that this check takes ends with its transaction.
create function outbox.session_lives(p_session bigint) returns boolean language sql volatile
as $$ select not pg_try_advisory_xact_lock_shared(p_session) $$;

-- True if the session of this key is on the connection that asks: behind a pooler that shares connections its lock is held by
-- whoever gets that connection, who could take it once more. A function of its own, because it is asked of the dead alone.
create function outbox.session_here(p_session bigint) returns boolean language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select exists (select from pg_locks l where l.pid = pg_backend_pid() and l.locktype = 'advisory' and l.mode = 'ExclusiveLock'
    and l.objsubid = 1 and (l.classid::bigint << 32 | l.objid::bigint) = p_session)
$$;

-- True if this owner may claim from the lane and settle it.
--
-- A new primary may lack the last commits of the old one, and a server may lose some in a crash. Then positions and
-- transaction ids are assigned again, and an owner that continued would pass the messages that got them.
create function outbox.lane_owned(l outbox.lane, p_owner uuid) returns boolean language sql stable
as $$ select l.owner = p_owner and l.incarnation = outbox.incarnation() $$;

-- True if a lane that is there has passed a ready row of this position and transaction: it is published.
--
-- A row at or below the cursor that the snapshot cannot see is late: its transaction was committed after a later row had been claimed. If
-- there are more than one batch, the lane passes them in the order of positions: those up to the late cursor that the snapshot of the last
-- claim could see.
create function outbox.is_passed(
  p_cursor bigint, p_snapshot pg_snapshot, p_late_cursor bigint, p_late_snapshot pg_snapshot, p_position bigint, p_xid xid8
) returns boolean language sql immutable
as $$
  select p_position <= p_cursor and coalesce(pg_visible_in_snapshot(p_xid, p_snapshot), false)
    or coalesce(p_position <= p_late_cursor and pg_visible_in_snapshot(p_xid, p_late_snapshot), false)
$$;

-- True unless the lane has passed more than this: then it comes from a copy of an earlier settle of its owner, which the network has
-- delivered late. What was claimed later is passed up to a higher position, or by a later snapshot: of two snapshots of one server the
-- later one has the higher limits or, with the same ones, fewer running transactions.
create function outbox.lane_may_pass(
  l outbox.lane, p_cursor bigint, p_snapshot pg_snapshot, p_late_cursor bigint, p_late_snapshot pg_snapshot
) returns boolean language sql stable
as $$
  select l.cursor < p_cursor or l.cursor = p_cursor and (l.snapshot is null
    or (pg_snapshot_xmin(coalesce(l.late_snapshot, l.snapshot)), pg_snapshot_xmax(coalesce(l.late_snapshot, l.snapshot)),
        -length(coalesce(l.late_snapshot, l.snapshot)::text), coalesce(l.late_cursor, l.cursor))
      <= (pg_snapshot_xmin(coalesce(p_late_snapshot, p_snapshot)), pg_snapshot_xmax(coalesce(p_late_snapshot, p_snapshot)),
        -length(coalesce(p_late_snapshot, p_snapshot)::text), coalesce(p_late_cursor, p_cursor)))
$$;

-- True if no message of a lane is retrying or blocked, or failed, because a claim with this snapshot has found none, and could see the last
-- transaction that made one, `p_last`. Whoever makes one has the row of the lane locked, and names its transaction there. A change of lanes,
-- which moves such messages, has named its own before, and lets nobody claim until its end.
create function outbox.none_left(p_last xid8, p_snapshot pg_snapshot) returns boolean language sql stable
as $$ select pg_visible_in_snapshot(p_last, p_snapshot) is true $$;

-- True while the lane has an owner; the lane of a dead owner is free.
--
-- A lease lasts ten seconds (src/store/lane/lease.ts). One that ends later than that is from before the clock was set back.
-- An owner that lost its session may be back soon: for half a second after the last renewal no other owner takes the lane.
create function outbox.lane_taken(l outbox.lane) returns boolean language sql volatile
as $$
  select coalesce(l.owner is not null
    and l.incarnation = outbox.incarnation()
    and l.alive_until between clock_timestamp() and clock_timestamp() + interval '20 seconds'
    and (l.session is null or l.alive_until > clock_timestamp() + interval '9.5 seconds' or outbox.session_lives(l.session)
      or outbox.session_here(l.session)), false)
$$;

-- =====================================================================================================================
-- History: live and archived messages as operators and tools see them
-- =====================================================================================================================

-- Archived messages, partitioned by the month (UTC) in which they were archived, so that old ones are dropped and not
-- deleted. The archive creates the partitions of this and the next month before it moves rows.
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
  -- As operators saw it: a message that its lane had passed is published here.
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
  archived_at     timestamptz not null,
  expires_at      timestamptz,
  expunged_at     timestamptz
) partition by range (archived_at);

create index message_history_id on outbox.message_history (id);
create index message_history_ref on outbox.message_history (topic, ref, created_at) where ref is not null;
-- For replays, in the order of positions: 75 bytes a message, and 5% of the time of archiving at most (100,000 messages, measured).
create index message_history_position on outbox.message_history (topic, position, id);

-- Messages as operators and tools see them: a ready row that its lane has passed is published. What a message of the log never has is
-- a constant here, so that a search for it skips the log.
--
-- Why the last branch joins a lane that it does not use, and that the planner removes: a branch of one table is planned before those of
-- two. The leaves of log_passed would be looked up before those of log, and one that is passed in between be found in neither.
create view outbox.message_view as
select m.id, m.topic, m.lane, m.position, m.key, m.ref, m.payload, m.content_type, m.headers,
  case when m.state = 'ready' and outbox.is_passed(l.cursor, l.snapshot, l.late_cursor, l.late_snapshot, m.position, m.xid)
    then 'published'::outbox.state else m.state end as state,
  m.workflow_id, m.due_at, m.workflow_due_at, m.attempts, m.sends, m.last_error, m.maybe_published,
  m.partition, m."offset", m.confirm_by, m.created_at, m.updated_at, m.published_at, m.supersedes, m.expires_at,
  m.expunged_at
from only outbox.message m left join outbox.lane l on l.topic = m.topic and l.n = m.lane
union all
select m.id, m.topic, m.lane, m.position, m.key, null::text collate "C", m.payload, 'application/json'::text, m.headers,
  case when outbox.is_passed(l.cursor, l.snapshot, l.late_cursor, l.late_snapshot, m.position, m.xid)
    then 'published'::outbox.state else m.state end,
  outbox.lane_workflow_id(m.topic, m.lane), null::timestamptz, null::timestamptz, 0, 0, null::text, m.maybe_published,
  null::integer, null::bigint, null::timestamptz, m.created_at, m.updated_at, m.published_at, null::uuid, null::timestamptz,
  m.expunged_at
from outbox.log m left join outbox.lane l on l.topic = m.topic and l.n = m.lane
union all
select m.id, m.topic, m.lane, m.position, m.key, null::text collate "C", m.payload, 'application/json'::text, m.headers, 'published'::outbox.state,
  outbox.lane_workflow_id(m.topic, m.lane), null::timestamptz, null::timestamptz, 0, 0, null::text, m.maybe_published,
  null::integer, null::bigint, null::timestamptz, m.created_at, m.updated_at, m.published_at, null::uuid, null::timestamptz,
  m.expunged_at
from outbox.log_passed m left join outbox.lane l on l.topic = m.topic and l.n = m.lane;

-- What its batch says about a message that its lane has passed: the time; the partition, if the batch had only one; the offset, if it
-- was alone in the batch. If late rows have made batches overlap, its batch is unknown.
create function outbox.batch_facts(p_topic text, p_lane integer, p_position bigint)
returns table (published_at timestamptz, partition integer, "offset" bigint) language sql stable
as $$
  select case when count(*) = 1::bigint then max(near.published_at) end, case when count(*) = 1::bigint then max(near.partition) end,
    case when count(*) = 1::bigint then max(near."offset") end
  from (
    select b.first_position, b.published_at,
      (select case when count(*) = 1::bigint then max(k)::integer end from jsonb_object_keys(b.partitions) k) as partition,
      case when b.count = 1 then (select e.v ->> 'first'::text from jsonb_each(b.partitions) e (k, v) limit 1)::bigint end as "offset"
    from outbox.batch b where b.topic = p_topic and b.lane = p_lane and b.last_position >= p_position
    order by b.last_position limit 3
  ) near where near.first_position <= p_position
$$;

-- All messages as operators and tools see them; archived_at is null while the row is live.
create view outbox.message_all as
select v.id, v.topic, v.lane, v.position, v.key, v.ref, v.payload, v.content_type, v.headers, v.state, v.workflow_id, v.due_at,
  v.workflow_due_at, v.attempts, v.sends, v.last_error, v.maybe_published, v.partition, v."offset", v.confirm_by, v.created_at,
  v.updated_at, v.published_at, v.supersedes, null::timestamptz as archived_at, v.expires_at, v.expunged_at
from outbox.message_view v
union all
select h.id, h.topic, h.lane, h.position, h.key, h.ref, h.payload, h.content_type, h.headers, h.state, h.workflow_id, h.due_at,
  h.workflow_due_at, h.attempts, h.sends, h.last_error, h.maybe_published, h.partition, h."offset", h.confirm_by, h.created_at,
  h.updated_at, h.published_at, h.supersedes, h.archived_at, h.expires_at, h.expunged_at
from outbox.message_history h
union all
select h.id, h.topic, h.lane, h.position, h.key, null::text collate "C", h.payload, 'application/json'::text, h.headers, 'published'::outbox.state,
  outbox.lane_workflow_id(h.topic, h.lane), null::timestamptz, null::timestamptz, 0, 0, null::text, h.maybe_published,
  b.partition, b."offset", null::timestamptz, h.created_at, h.updated_at, coalesce(h.published_at, b.published_at), null::uuid,
  (select f.archived_at from outbox.leaf f join pg_class c on c.relname = 'log_' || f.n::text where c.oid = h.tableoid), null::timestamptz,
  h.expunged_at
from outbox.log_history h cross join lateral outbox.batch_facts(h.topic, h.lane, h.position) b;

-- =====================================================================================================================
-- The writer
-- What the library and callers in other languages call to store, cancel and reschedule.
-- =====================================================================================================================

create type outbox.stored as (id uuid, workflow_id text, state outbox.state, due_at timestamptz, duplicate boolean);

create type outbox.store_result as (
  n bigint, id uuid, workflow_id text, state outbox.state, due_at timestamptz, duplicate boolean, refusal jsonb
);

-- The headers of a message whose id its sender chose: another installation may choose the same one, so its inbox has to tell them apart.
create function outbox.with_chosen_id(headers jsonb) returns jsonb language sql immutable
set search_path = pg_catalog, pg_temp
as $$ select coalesce(nullif(headers, 'null'::jsonb), '{}'::jsonb) || '{"outbox-id": "chosen"}'::jsonb $$;

-- Headers are texts with names that every transport can carry. Some names are reserved for the outbox; of these only two may be
-- set: outbox-version, the version of the payload, 1 to 1,000,000 as text, without which it has version 1; and outbox-replay-of, the
-- id of the message that is sent again.
-- plpgsql, because an SQL function with a query is planned in every transaction that calls it.
create function outbox.headers_fit(headers jsonb) returns boolean language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if headers is null or jsonb_typeof(headers) = 'null' then return true; end if;
  return jsonb_typeof(headers) = 'object' and not exists (
    select from jsonb_each(headers) h
    where jsonb_typeof(h.value) <> 'string' or h.key !~ '^[a-z0-9][a-z0-9_.-]{0,127}$'
      or h.key ~ '^(ce_|outbox-|content-type$)'
        and (h.key <> 'outbox-version' or h.value #>> '{}' !~ '^([1-9][0-9]{0,5}|1000000)$')
        and (h.key <> 'outbox-replay-of' or h.value #>> '{}' !~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'));
end
$$;

create function outbox.is_topic_name(name text) returns boolean language sql immutable
as $$ select name ~ '^[A-Za-z0-9._-]{1,200}$' $$;

-- When a message expires; null: never.
create function outbox.expiry_of(m jsonb, now_at timestamptz) returns timestamptz language sql stable
as $$ select coalesce((m ->> 'expiresAt')::timestamptz, now_at + (m ->> 'expiresAfterMs')::float8 * interval '1 ms') $$;

-- The refusal of a message that would be due when it has expired.
create function outbox.expiry_refusal(expires timestamptz, due timestamptz) returns jsonb language sql stable
as $$ select jsonb_build_object('code', 'OUTBOX_EXPIRY_BEFORE_DUE', 'message', format('The message would expire %s, and be due %s.', expires, due)) $$;

-- Why a message cannot be stored, or null. {"code": …, "message": …, "details": …}; codes as in src/core/errors.ts. The
-- limits are those of the relay that was started last, so a raised limit applies only after a relay has started with it.
create function outbox.refusal(m jsonb, policy outbox.topic, due timestamptz, now_at timestamptz) returns jsonb language sql stable
as $$
  select case
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
    -- The call costs more than all other checks, and so does the limit of a delay.
    when m ? 'headers' and not outbox.headers_fit(m -> 'headers')
      then jsonb_build_object('code', 'OUTBOX_HEADER_INVALID',
        'message', 'The headers are not an object of texts with lower-case names, or use a reserved name.')
    when due is not null and due > now_at + outbox.exact(policy.delay_limit)
      then jsonb_build_object('code', 'OUTBOX_DELAY_OUT_OF_RANGE',
        'message', format('The message would be due %s; the database allows a delay of %s for the topic "%s".',
          due, policy.delay_limit, policy.name))
    when due > now_at and outbox.expiry_of(m, now_at) <= due
      then outbox.expiry_refusal(outbox.expiry_of(m, now_at), due)
  end
$$;

-- True for valid JSON. Versions before 16 have no "is json", so the error of a cast is caught.
create function outbox.is_json(candidate text) returns boolean language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return candidate::json is not null;
exception when data_exception or statement_too_complex then
  return false;
end
$$;

-- The time that a text denotes, or null.
create function outbox.instant_of(candidate text) returns timestamptz language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return candidate::timestamptz;
exception when data_exception then
  return null;
end
$$;

-- Checks that the library makes before it calls outbox.store, repeated for callers in other languages; null for a well-formed
-- message.
create function outbox.form_refusal(m jsonb, policy outbox.topic) returns jsonb language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  -- "->>" returns null for anything but an object.
  payload text := m ->> 'payload';
  content_type text := coalesce(m ->> 'contentType', 'application/json');
  unknown text;
begin
  if jsonb_typeof(m) is distinct from 'object' then
    return jsonb_build_object('code', 'OUTBOX_OPTION_INVALID', 'message', 'A message is an object with a payload.');
  end if;
  select k into unknown from jsonb_object_keys(m) k
  where k not in ('payload', 'key', 'ref', 'id', 'headers', 'contentType', 'afterMs', 'at', 'expiresAfterMs', 'expiresAt') limit 1;
  if found then
    return jsonb_build_object('code', 'OUTBOX_OPTION_INVALID', 'message', format('"%s" is no option of a message.', unknown));
  end if;
  if m ->> 'id' is not null and m ->> 'id' !~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
    return jsonb_build_object('code', 'OUTBOX_ID_INVALID', 'message', format('The id "%s" is not a UUID.', m ->> 'id'));
  end if;
  if m ->> 'afterMs' is not null and m ->> 'at' is not null then
    return jsonb_build_object('code', 'OUTBOX_OPTION_INVALID', 'message', 'Both a delay and an instant are given.');
  end if;
  if m ->> 'afterMs' is not null and (jsonb_typeof(m -> 'afterMs') <> 'number' or (m ->> 'afterMs')::numeric not between 0 and 1e15) then
    return jsonb_build_object('code', 'OUTBOX_DELAY_OUT_OF_RANGE',
      'message', format('A delay of %s ms is negative, or beyond the longest delay of the topic.', m ->> 'afterMs'));
  end if;
  if m ->> 'at' is not null and outbox.instant_of(m ->> 'at') is null then
    return jsonb_build_object('code', 'OUTBOX_OPTION_INVALID', 'message', format('"%s" is no instant.', m ->> 'at'));
  end if;
  if m ->> 'at' is not null and outbox.instant_of(m ->> 'at') = '-infinity' then
    return jsonb_build_object('code', 'OUTBOX_DELAY_OUT_OF_RANGE', 'message', 'A message cannot be due before all time.');
  end if;
  if m ->> 'expiresAfterMs' is not null and m ->> 'expiresAt' is not null then
    return jsonb_build_object('code', 'OUTBOX_OPTION_INVALID', 'message', 'Both a duration and an instant of the expiry are given.');
  end if;
  -- Consumers read the time as text, with a year of four digits.
  if m ->> 'expiresAfterMs' is not null
    and (jsonb_typeof(m -> 'expiresAfterMs') <> 'number' or (m ->> 'expiresAfterMs')::numeric not between 0 and 3.1536e12)
    or m ->> 'expiresAt' is not null and outbox.instant_of(m ->> 'expiresAt') between '0001-01-01 UTC' and '9999-12-31 UTC' is not true then
    return jsonb_build_object('code', 'OUTBOX_OPTION_INVALID', 'message', 'The expiry is no instant before the year 9999, and no duration of up to 100 years.');
  end if;
  -- A payload that is too large is refused without being parsed.
  if jsonb_typeof(m -> 'payload') = 'string' and octet_length(payload) <= policy.payload_limit_bytes
    and content_type ~* '^application/([a-z0-9.+-]+\+)?json *(;|$)' and not outbox.is_json(payload) then
    return jsonb_build_object('code', 'OUTBOX_PAYLOAD_INVALID', 'message', format('The payload is not JSON, though %s says so.', content_type));
  end if;
  return null;
end
$$;

-- Raises the error of a refused message.
create function outbox.refuse(refusal jsonb, n bigint default null) returns void language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception 'outbox: %', case when n is null then '' else 'message ' || n || ': ' end || (refusal ->> 'message')
    using errcode = 'OB002', detail = refusal ->> 'code';
end
$$;

-- Raises OB002 unless a message is named by either its ref or its id, as outbox.cancel and outbox.reschedule require.
create function outbox.require_handle(topic text, ref text, id uuid) returns void language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  if topic is null or topic !~ '^[A-Za-z0-9._-]{1,200}$' then
    perform outbox.refuse(jsonb_build_object('code', 'OUTBOX_TOPIC_INVALID', 'message', format('"%s" is no name for a topic.', topic)));
  end if;
  if (ref is null) = (id is null) then
    perform outbox.refuse('{"code": "OUTBOX_OPTION_INVALID", "message": "Name the message by its ref or by its id."}');
  end if;
  if octet_length(ref) not between 1 and 256 then
    perform outbox.refuse(jsonb_build_object('code', 'OUTBOX_REF_INVALID', 'message', format('The ref has %s bytes.', octet_length(ref))));
  end if;
end
$$;

-- Deletes rows that were just stored under the id of a message of the log or the history, and returns them as not stored.
-- A separate statement after the insert: a check before it could miss a row that is archived in between. If the snapshot is
-- older than the archive's commit (REPEATABLE READ), the moved row is still visible in its old table.
create function outbox.take_back_archived(p_results outbox.store_result[], p_given uuid[])
returns outbox.store_result[] language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  archived uuid[] := array(select g.id from unnest(p_given) g (id)
    cross join lateral (select from outbox.message_history h where h.id = g.id union all
      select from outbox.log l where l.id = g.id union all select from outbox.log_passed p where p.id = g.id union all
      select from outbox.log_history a where a.id = g.id limit 1) found);
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    archived := archived || array(select m.id from only outbox.message m where m.id = any(p_given) and m.xid <> pg_current_xact_id());
  end if;
  if cardinality(archived) = 0 then return p_results; end if;
  delete from only outbox.message m where m.id = any(archived) and m.xid = pg_current_xact_id();
  return array(select case when r.id = any(archived) then (r.n, r.id, null, null, null, false, null)::outbox.store_result else r end
    from unnest(p_results) r order by r.n);
end
$$;

-- Returns the stored message, live or archived, for repeats. Any refusal deletes what the same call has inserted.
create function outbox.resolve_conflicts(p_topic text, p_messages jsonb, p_results outbox.store_result[])
returns outbox.store_result[] language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  resolved outbox.store_result[];
begin
  select array_agg(case
      when r.state is not null then r
      when e.id is null then (r.n, r.id, null, null, null, false, jsonb_build_object('code', 'OUTBOX_REF_TAKEN',
        'message', format('A message of the ref "%s" is already waiting.', x.m ->> 'ref')))::outbox.store_result
      -- Of an expunged message the payload is not known, and it was sent.
      when e.topic = p_topic and (e.expunged_at is not null or e.payload = x.m ->> 'payload') and e.key is not distinct from x.m ->> 'key'
        then (r.n, e.id, e.workflow_id, e.state, e.due_at, true, null)::outbox.store_result
      else (r.n, r.id, null, null, null, false, jsonb_build_object('code', 'OUTBOX_ID_TAKEN',
        'message', format('The id %s belongs to a message with other content.', r.id)))::outbox.store_result
    end order by r.n) into resolved
  from unnest(p_results) r
  join jsonb_array_elements(p_messages) with ordinality x(m, n) on x.n = r.n
  left join lateral (select * from outbox.message_all a where a.id = r.id limit 1) e on true;

  if exists (select from unnest(resolved) r where r.refusal is not null) then
    delete from only outbox.message t using unnest(p_results) r where t.id = r.id and r.state is not null;
    return array(select r from unnest(resolved) r where r.refusal is not null);
  end if;
  return resolved;
end
$$;

-- When the message of a ref is due that is replaced. `p_limit`: the latest time, if any; one that has passed means now, and does not move
-- what is due already, which would never be released.
create function outbox.replaced_due(p_before timestamptz, p_given timestamptz, p_limit timestamptz, p_now timestamptz)
returns timestamptz language sql immutable
as $$ select least(greatest(p_given, p_now), greatest(p_limit, case when p_limit is not null then least(p_before, p_now) end)) $$;

-- True if a message waits or, unless `p_waiting`, is retrying or blocked and certainly not published.
create function outbox.is_open(m outbox.message, p_waiting boolean) returns boolean language sql immutable
as $$
  select m.state::text = 'waiting' or not p_waiting and m.state::text in ('retrying', 'blocked') and not m.maybe_published
$$;

-- Locks a message that is open. False: it is not, or no longer when another transaction has unlocked it; then it is not locked.
--
-- Why a block: PostgreSQL leaves a lock to whom waited for it, although the row no longer matches. The settle of the message's lane would
-- wait until the service's transaction ends, and its batch be sent again. Without a wait there is no block: each costs a transaction id.
create function outbox.lock_open(p_id uuid, p_topic text, p_waiting boolean) returns boolean language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from only outbox.message m where m.id = p_id and m.topic = p_topic and outbox.is_open(m, p_waiting)
  for no key update skip locked;
  if found then return true; end if;
  begin
    perform from only outbox.message m where m.id = p_id and m.topic = p_topic and outbox.is_open(m, p_waiting) for no key update;
    if found then return true; end if;
    raise exception 'outbox: the message is no longer open' using errcode = 'OB003';
  exception when sqlstate 'OB003' then
    return false;
  end;
end
$$;

-- Gives the waiting message of a ref the content and the due time of another one of the same key; null if none waits. With `keepDue`
-- the due time stays, and what would have expired by then is refused; with `atMostMs` it is at most this long after the first one.
create function outbox.replace_waiting(p_topic text, m jsonb, p_due timestamptz, p_now timestamptz) returns outbox.store_result
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  answer outbox.store_result;
  waiting uuid;
  due timestamptz;
  expires timestamptz := outbox.expiry_of(m, p_now);
begin
  select x.id into waiting from only outbox.message x
  where x.topic = p_topic and x.ref = m ->> 'ref' and x.state = 'waiting' and x.key is not distinct from m ->> 'key';
  if not found or not outbox.lock_open(waiting, p_topic, true) then return null; end if;
  select case when m ->> 'keepDue' = 'true' then x.due_at
    else outbox.replaced_due(x.due_at, p_due, x.first_due_at + (m ->> 'atMostMs')::float8 * interval '1 ms', p_now) end
  into due from only outbox.message x where x.id = waiting;
  if due > p_now and expires <= due then
    return (1, null, null, null, null, false, outbox.expiry_refusal(expires, due))::outbox.store_result;
  end if;
  update only outbox.message t set payload = m ->> 'payload', expires_at = expires,
    headers = case when t.headers ? 'outbox-id' then outbox.with_chosen_id(m -> 'headers') else nullif(m -> 'headers', 'null') end,
    content_type = coalesce(m ->> 'contentType', 'application/json'), due_at = due, updated_at = outbox.clock(),
    workflow_due_at = case when t.workflow_id = outbox.message_workflow_id(t.id) then t.workflow_due_at else due end
  where t.id = waiting
  returning 1, t.id, t.workflow_id, t.state, t.due_at, false, null::jsonb into answer;
  return answer;
end
$$;

-- The messages that outbox.store refuses, with the reasons.
create function outbox.refusals(p_messages jsonb, policy outbox.topic, now_at timestamptz) returns setof outbox.store_result
language sql stable
as $$
  select e.n, null::uuid, null::text, null::outbox.state, null::timestamptz, false, e.refusal
  from (
    select x.n, case
        when not outbox.is_topic_name(policy.name)
          then jsonb_build_object('code', 'OUTBOX_TOPIC_INVALID', 'message', format('"%s" is no name for a topic.', policy.name))
        when count(*) over (partition by (x.m ->> 'id')::uuid) > 1 and x.m ->> 'id' is not null
          then jsonb_build_object('code', 'OUTBOX_ID_TAKEN', 'message', format('The id %s is used twice in one batch.', x.m ->> 'id'))
        else outbox.refusal(x.m, policy, coalesce((x.m ->> 'at')::timestamptz, now_at + (x.m ->> 'afterMs')::float8 * interval '1 ms'), now_at)
      end as refusal
    from jsonb_array_elements(p_messages) with ordinality x(m, n)
  ) e
  where e.refusal is not null
$$;

-- The workflow that delivers a message: its own while it waits, or that of its lane.
create function outbox.deliverer(installation text, topic text, lane integer, id uuid, own boolean) returns text
language sql immutable
as $$ select case when own then installation || '/message/' || id::text else installation || '/lane/' || topic || '/' || lane::text end $$;

-- Makes the two functions that store plain messages, with the name of the current leaf and the id of the installation, which would
-- cost a tenth of a send to read. To be called whenever one of these has changed. A transaction that is open meanwhile may go on with the
-- old functions: see outbox.leaf.
create function outbox.write_store() returns void language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $write$
begin
  execute format($function$
-- Stores one message that has neither an id nor a ref of the caller. The id of its workflow, if it has `p_new_id` and goes into the log;
-- else, in JSON, [id, workflow id, state, due time in ms], and `true` if no relay has announced its topic. Null, and nothing is stored, if it
-- is refused; outbox.store says why. `p_new_id`: a UUID that was made for it; the server needs 10 us to make one.
--
-- Why neither records nor JSON, one statement for what most senders do, and no expression that it does not need: every transaction
-- prepares anew what it executes of a function. So it takes 310,000 instructions, not 500,000; a bare INSERT of its row takes 220,000.
create or replace function outbox.store_one(
  p_topic text, p_payload text, p_key text default null, p_headers jsonb default null, p_after_ms float8 default null,
  p_at timestamptz default null, p_new_id uuid default null
) returns text language plpgsql volatile
as $body$
declare
  lanes integer;
  timer text;
  payload_limit integer;
  delay_limit interval;
  receipts boolean;
  installation constant text := '%2$s';
  id uuid := p_new_id;
  lane integer := 0;
  state outbox.state := 'ready';
  workflow_id text;
  now_at timestamptz;
  due timestamptz;
  workflow_due timestamptz;
  unannounced boolean;
begin
  if p_after_ms is null and p_at is null and p_new_id is not null then
    insert into outbox.%1$I as m (id, topic, lane, key, payload, headers)
    select p_new_id, t.name, case when t.lanes = 1 then 0 else outbox.lane_of(p_key, p_new_id, t.lanes) end, p_key, p_payload, p_headers
    from outbox.topic t where t.name = p_topic and t.confirm_group is null and octet_length(p_payload) <= t.payload_limit_bytes
      and (p_key is null or octet_length(p_key) between 1 and 256)
      and (p_headers is null or octet_length(p_headers::text) <= 32768 and outbox.headers_fit(p_headers))
    returning '%2$s/lane/' || m.topic || '/' || m.lane::text into workflow_id;
    if workflow_id is not null then return workflow_id; end if;
  end if;
  select t.lanes, t.timer, t.payload_limit_bytes, t.delay_limit, t.confirm_group is not null
  into lanes, timer, payload_limit, delay_limit, receipts from outbox.topic t where t.name = p_topic;
  if not found then
    if not outbox.is_topic_name(p_topic) then return null; end if;
    unannounced := true;
    select p.lanes, p.timer, p.payload_limit_bytes, p.delay_limit into lanes, timer, payload_limit, delay_limit
    from outbox.policy(p_topic) p;
  end if;
  -- The conditions of outbox.refusal.
  if octet_length(p_payload) > payload_limit or p_payload is null or octet_length(p_key) not between 1 and 256 then return null; end if;
  if p_headers is not null and (octet_length(p_headers::text) > 32768 or not outbox.headers_fit(p_headers)) then return null; end if;
  if id is null then id := outbox.uuid_v7(); end if;
  if lanes > 1 then lane := outbox.lane_of(p_key, id, lanes); end if;
  if p_after_ms is not null or p_at is not null then
    now_at := outbox.clock() + (clock_timestamp() - now());
    due := coalesce(p_at, now_at + p_after_ms * interval '1 ms');
    if due > now_at + outbox.exact(delay_limit) then return null; end if;
    if due > now_at then state := 'waiting'; end if;
    if due <= now_at or timer = 'lane' then workflow_due := due; end if;
    workflow_id := outbox.deliverer(installation, p_topic, lane, id, due > now_at and timer = 'workflow');
  else
    workflow_id := installation || '/lane/' || p_topic || '/' || lane::text;
  end if;
  if due is null and receipts is not true then
    insert into outbox.%1$I (id, topic, lane, key, payload, headers) values (id, p_topic, lane, p_key, p_payload, p_headers);
  else
    insert into outbox.message (id, topic, lane, key, payload, headers, state, workflow_id, due_at, workflow_due_at)
    values (id, p_topic, lane, p_key, p_payload, p_headers, state, workflow_id, due, workflow_due);
  end if;
  return '["' || id::text || '","' || workflow_id || '","' || state::text || '",' || coalesce((extract(epoch from due) * 1000::numeric)::text, 'null')
    || case when unannounced then ',true]' else ']' end;
end $body$;

-- Stores messages that have neither ids nor refs of the caller, all or none. Null, and nothing is stored, if one is refused;
-- outbox.store says which, and why.
--
-- `p_new_ids`: UUIDs that were made for them, with commas. The other lists have the separator U+001E, which JSON texts never
-- contain; an empty element is null, and so is a list of nothing else. Why not JSON: parsing it costs as much as half of the
-- insert, and splitting such a text a tenth.
--
-- The answer, in JSON: what the ids of lane workflows begin with, the lanes with commas, and, if any message has a due time,
-- [state, its own workflow id, due time in ms] of each, and whether no relay has announced the topic.
create or replace function outbox.store_many(
  p_topic text, p_new_ids text, p_payloads text, p_keys text, p_headers text, p_after_ms text, p_at text
) returns text language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $body$
declare
  policy outbox.topic := outbox.policy(p_topic);
  installation constant text := '%2$s';
  now_at timestamptz := outbox.clock() + (clock_timestamp() - now());
  ids uuid[] := string_to_array(p_new_ids, ',')::uuid[];
  payloads text[] := string_to_array(p_payloads, chr(30));
  keys text[] := string_to_array(p_keys, chr(30), '');
  headers jsonb[] := string_to_array(p_headers, chr(30), '')::jsonb[];
  lanes integer[];
  dues timestamptz[];
begin
  if not outbox.is_topic_name(p_topic) then return null; end if;
  -- The conditions of outbox.refusal. Everything is checked before anything is written.
  if exists (select from unnest(payloads, keys) x (payload, key)
    where octet_length(x.payload) > policy.payload_limit_bytes or octet_length(x.key) > 256) then
    return null;
  end if;
  if p_headers is not null and exists (select from unnest(headers) h where octet_length(h::text) > 32768 or not outbox.headers_fit(h)) then
    return null;
  end if;
  if p_after_ms is not null or p_at is not null then
    dues := array(select coalesce(x.at::timestamptz, now_at + x.after_ms::float8 * interval '1 ms')
      from unnest(ids, string_to_array(p_at, chr(30), ''), string_to_array(p_after_ms, chr(30), '')) x (id, at, after_ms));
    if exists (select from unnest(dues) due where due > now_at + outbox.exact(policy.delay_limit)) then return null; end if;
  end if;

  lanes := array(select outbox.lane_of(x.key, x.id, policy.lanes) from unnest(ids, keys) x (id, key));
  -- Rows of unnest keep their order, in which they get their positions.
  if dues is null and policy.confirm_group is null then
    insert into outbox.%1$I (id, topic, lane, key, payload, headers)
    select x.id, p_topic, x.lane, x.key, x.payload, x.headers
    from unnest(ids, lanes, keys, payloads, headers) x (id, lane, key, payload, headers);
  else
    insert into outbox.message (id, topic, lane, key, payload, headers, state, workflow_id, due_at, workflow_due_at)
    select x.id, p_topic, x.lane, x.key, x.payload, x.headers, case when x.due > now_at then 'waiting'::outbox.state else 'ready' end,
      outbox.deliverer(installation, p_topic, x.lane, x.id, x.due > now_at and policy.timer = 'workflow'),
      x.due, case when x.due > now_at and policy.timer = 'workflow' then null else x.due end
    from unnest(ids, lanes, keys, payloads, headers, dues) x (id, lane, key, payload, headers, due);
  end if;

  return json_build_array(installation || '/lane/' || p_topic || '/', array_to_string(lanes, ','), case when dues is not null then (
    select json_agg(json_build_array(case when x.due > now_at then 'waiting' else 'ready' end,
      case when x.due > now_at and policy.timer = 'workflow' then installation || '/message/' || x.id end, extract(epoch from x.due) * 1000))
    from unnest(ids, dues) x (id, due)) end, policy.transport is null);
end $body$;
$function$, 'log_' || (select l.n from outbox.leaf l where l.closed_at is null), (select i.id from outbox.installation i));
end
$write$;
select outbox.write_store();

-- Closes the current leaf `p_current` and makes the next one current, unless another relay has done so. Waits for no sender, and none
-- waits for it.
--
-- Why the next leaf has been created by an earlier transaction: PostgreSQL lets others see a transaction a moment before it tells them that
-- their plans are stale. In that moment a new sender could commit to the leaf, and a claim with an old plan pass its message unread.
create function outbox.next_leaf(p_current bigint) returns void language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('outbox.leaf', 0));
  update outbox.leaf set closed_at = outbox.clock() where n = p_current and closed_at is null;
  if not found then return; end if;
  perform ('outbox.log_' || p_current + 1)::regclass;
  insert into outbox.leaf (n, opened_at) values (p_current + 1, outbox.clock());
  perform outbox.grant_log();
  perform outbox.write_store();
end
$$;

-- How far the lanes go in a leaf that is sealed: their highest positions, and whether the lane has passed all of its messages there.
-- It does not test each row from the snapshot's xmin on: while a transaction stays open for hours, even in another database, that would read
-- every row stored since, and passLeaf asks under a lock.
create function outbox.lanes_of_leaf(p_leaf regclass) returns table (topic text, lane integer, "position" bigint, passed boolean)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
begin
  return query execute format($query$
    with recursive lanes (topic, lane) as (
      (select m.topic, m.lane from %1$s m where m.state = 'ready' and m.position > 0 order by m.topic, m.lane limit 1)
      union all
      select n.topic, n.lane from lanes l cross join lateral (
        select m.topic, m.lane from %1$s m where m.state = 'ready' and m.position > 0 and (m.topic, m.lane) > (l.topic, l.lane)
        order by m.topic, m.lane limit 1) n
    )
    select s.topic, s.lane, last.position, l.snapshot is not null and last.position <= l.cursor
      and not exists (select from %1$s m where m.topic = s.topic and m.lane = s.lane and m.state = 'ready'
        and m.xid >= pg_snapshot_xmax(l.snapshot))
      and not exists (select from pg_snapshot_xip(l.snapshot) running (xid) cross join lateral (
        select from %1$s m where m.topic = s.topic and m.lane = s.lane and m.state = 'ready' and m.xid = running.xid offset 0) m)
    from lanes s left join outbox.lane l on l.topic = s.topic and l.n = s.lane
    cross join lateral (select m.position from %1$s m where m.topic = s.topic and m.lane = s.lane and m.state = 'ready' and m.position > 0
      order by m.position desc limit 1) last
  $query$, p_leaf);
end
$$;

-- Stores messages, all or none. Refusals are returned as data, because an exception would abort the transaction of the
-- caller. Messages: [{payload, key?, ref?, id?, headers?, contentType?, afterMs?, at?, expiresAfterMs?, expiresAt?}], in the
-- order of sending; `unique` with an id: no other installation has it. A single one may have replace: true, and with it keepDue: true or atMostMs. `policy`: that of the topic, for callers that have read it.
create function outbox.store(p_topic text, p_messages jsonb, policy outbox.topic default null) returns setof outbox.store_result language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  installation text;
  now_at timestamptz;
  single jsonb := p_messages -> 0;
  stored jsonb;
  refused boolean;
  replaces boolean;
  replaced outbox.store_result;
  results outbox.store_result[];
  given uuid[];
begin
  if jsonb_array_length(p_messages) = 1 and single ->> 'id' is null and single ->> 'ref' is null and single ->> 'contentType' is null
    and single ->> 'expiresAt' is null and single ->> 'expiresAfterMs' is null then
    stored := outbox.store_one(p_topic, single ->> 'payload', single ->> 'key', nullif(single -> 'headers', 'null'),
      (single ->> 'afterMs')::float8, (single ->> 'at')::timestamptz);
    if stored is not null then
      return query select 1::bigint, (stored ->> 0)::uuid, stored ->> 1, (stored ->> 2)::outbox.state,
        to_timestamp((stored ->> 3)::float8 / 1000), false, null::jsonb;
      return;
    end if;
  end if;

  if policy is null then policy := outbox.policy(p_topic); end if;
  installation := (select i.id from outbox.installation i);
  now_at := outbox.clock() + (clock_timestamp() - now());

  -- Everything is checked before anything is written.
  select bool_or(outbox.refusal(x.m, policy, x.due, now_at) is not null) or count(x.id) > count(distinct x.id) into refused
  from (select e.m, (e.m ->> 'id')::uuid as id,
      coalesce((e.m ->> 'at')::timestamptz, now_at + (e.m ->> 'afterMs')::float8 * interval '1 ms') as due
    from jsonb_array_elements(p_messages) e (m) offset 0) x;
  if refused or not outbox.is_topic_name(p_topic) then
    return query select * from outbox.refusals(p_messages, policy, now_at);
    return;
  end if;

  replaces := coalesce((single ->> 'replace')::boolean, false);
  if replaces then
    replaced := outbox.replace_waiting(p_topic, single,
      coalesce((single ->> 'at')::timestamptz, now_at + (single ->> 'afterMs')::float8 * interval '1 ms'), now_at);
    if replaced.n is not null then
      return next replaced;
      return;
    end if;
  end if;

  with input as materialized (
    select x.n, x.m, x.m ->> 'id' is not null as given,
      x.m ->> 'id' is not null and x.m -> 'unique' is distinct from 'true' as chosen, coalesce((x.m ->> 'id')::uuid, outbox.uuid_v7()) as id,
      coalesce((x.m ->> 'at')::timestamptz, now_at + (x.m ->> 'afterMs')::float8 * interval '1 ms') as due
    from jsonb_array_elements(p_messages) with ordinality x(m, n)
  ), placed as (
    select i.*, i.due > now_at as waits, outbox.lane_of(i.m ->> 'key', i.id, policy.lanes) as lane from input i
  ), inserted as (
    insert into outbox.message as t (id, topic, lane, key, ref, payload, content_type, headers, state, workflow_id, due_at, workflow_due_at,
      expires_at, first_due_at)
    select p.id, p_topic, p.lane, p.m ->> 'key', p.m ->> 'ref', p.m ->> 'payload',
      coalesce(p.m ->> 'contentType', 'application/json'),
      case when p.chosen then outbox.with_chosen_id(p.m -> 'headers') else nullif(p.m -> 'headers', 'null') end,
      case when p.waits then 'waiting'::outbox.state else 'ready' end,
      outbox.deliverer(installation, p_topic, p.lane, p.id, p.waits and policy.timer = 'workflow'),
      p.due, case when policy.timer = 'lane' or not p.waits then p.due end,
      case when p.m ? 'expiresAt' or p.m ? 'expiresAfterMs' then outbox.expiry_of(p.m, now_at) end,
      case when p.waits and p.m ? 'ref' then p.due end
    from placed p
    -- What is known to be in the log is not stored beside it, not even until it is taken back: a relay that takes it out would wait.
    where not (p.given and (exists (select from outbox.log l where l.id = p.id) or exists (select from outbox.log_passed l where l.id = p.id)))
    order by p.n
    on conflict do nothing
    returning t.id, t.workflow_id, t.state, t.due_at
  )
  select array_agg((p.n, p.id, s.workflow_id, s.state, s.due_at, false, null)::outbox.store_result order by p.n),
    array_agg(p.id) filter (where p.given and s.state is not null)
    into results, given
  from placed p left join inserted s on s.id = p.id;

  -- Generated ids are new; an id that the caller chose may belong to an archived message.
  if given is not null then results := outbox.take_back_archived(results, given); end if;

  -- A message that was not inserted repeats a stored one, or uses an id or a ref that is taken.
  if exists (select from unnest(results) r where r.state is null) then
    -- One of the ref was committed after it had been looked for; it may wait no longer. One of another key refuses the ref, and an id
    -- may be taken as well.
    if replaces and coalesce((select m.key is not distinct from single ->> 'key' from only outbox.message m
      where m.topic = p_topic and m.ref = single ->> 'ref' and m.state = 'waiting'), single ->> 'id' is null) then
      return query select * from outbox.store(p_topic, p_messages, policy);
      return;
    end if;
    results := outbox.resolve_conflicts(p_topic, p_messages, results);
  end if;
  return query select * from unnest(results);
end
$$;

-- The same for the library, as one text: [[n, id, workflow id, state, due time in ms, duplicate, refusal, whether no relay has
-- announced the topic], …] in the order of sending. Clients parse columns differently, and each row and column of a result costs Prisma some microseconds.
create function outbox.store_as_json(p_topic text, p_messages jsonb) returns text language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  policy outbox.topic := outbox.policy(p_topic);
begin
  return (select json_agg(json_build_array(r.n, r.id, r.workflow_id, r.state, floor(extract(epoch from r.due_at) * 1000), r.duplicate,
      r.refusal, policy.transport is null) order by r.n)
    from outbox.store(p_topic, p_messages, policy) r);
end
$$;

-- Stores one message in the current transaction, or, with "replace", instead of the waiting one of its ref, whose due time stays with
-- "keep_due", and is at most "at_most" after its first due time. Raises OB002 if it
-- is refused; the detail is the error code.
create function outbox.send(
  topic text, payload text, key text default null, after interval default null, at timestamptz default null,
  ref text default null, headers jsonb default null, id uuid default null, replace boolean default false,
  expires_after interval default null, expires_at timestamptz default null, keep_due boolean default false,
  at_most interval default null
) returns outbox.stored language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  message jsonb := jsonb_strip_nulls(jsonb_build_object('payload', payload, 'key', key, 'afterMs', extract(epoch from after) * 1000,
    'at', at, 'ref', ref, 'headers', headers, 'id', id, 'expiresAfterMs', extract(epoch from expires_after) * 1000,
    'expiresAt', expires_at));
  policy outbox.topic := outbox.policy(topic);
  refusal jsonb := outbox.form_refusal(message, policy);
  answer outbox.store_result;
begin
  if refusal is not null then perform outbox.refuse(refusal); end if;
  if replace then
    if ref is null or id is not null then
      perform outbox.refuse('{"code": "OUTBOX_OPTION_INVALID", "message": "What replaces a waiting message has a ref, and no id."}');
    end if;
    if keep_due and at_most is not null or extract(epoch from at_most) not between 0 and 3.1536e9 then
      perform outbox.refuse('{"code": "OUTBOX_OPTION_INVALID", "message": "The longest wait is no duration of up to 100 years, or the due time is to be kept as well."}');
    end if;
    message := message || jsonb_build_object('replace', true, 'keepDue', keep_due, 'atMostMs', extract(epoch from at_most) * 1000);
  elsif keep_due or at_most is not null then
    perform outbox.refuse('{"code": "OUTBOX_OPTION_INVALID", "message": "keep_due and at_most go with replace."}');
  end if;
  select * into answer from outbox.store(topic, jsonb_build_array(message), policy);
  if answer.refusal is not null then perform outbox.refuse(answer.refusal); end if;
  return (answer.id, answer.workflow_id, answer.state, answer.due_at, answer.duplicate)::outbox.stored;
end
$$;

-- Stores many messages, all or none, in their order: [{"payload": …, "key"?, "ref"?, "id"?, "headers"?, "contentType"?,
-- "afterMs"? or "at"?, "expiresAfterMs"? or "expiresAt"?}]. Raises OB002 if one is refused.
create function outbox.send_batch(topic text, messages jsonb) returns setof outbox.stored language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  policy outbox.topic := outbox.policy(topic);
  answer outbox.store_result;
  refused record;
begin
  if jsonb_typeof(messages) is distinct from 'array' then
    perform outbox.refuse('{"code": "OUTBOX_OPTION_INVALID", "message": "The messages are not a list."}');
  end if;
  select e.n, e.refusal into refused
  from (select x.n, outbox.form_refusal(x.m, policy) as refusal from jsonb_array_elements(messages) with ordinality x(m, n)) e
  where e.refusal is not null order by e.n limit 1;
  if found then perform outbox.refuse(refused.refusal, refused.n); end if;
  for answer in select * from outbox.store(topic, messages, policy) loop
    if answer.refusal is not null then perform outbox.refuse(answer.refusal, answer.n); end if;
    return next (answer.id, answer.workflow_id, answer.state, answer.due_at, answer.duplicate)::outbox.stored;
  end loop;
end
$$;

-- The message of a ref: the waiting one, else the newest live one, else the newest archived one.
create function outbox.message_of_ref(p_topic text, p_ref text) returns uuid language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(
    (select m.id from only outbox.message m where m.topic = p_topic and m.ref = p_ref
     order by (m.state = 'waiting') desc, m.created_at desc, m.position desc limit 1),
    (select h.id from outbox.message_history h where h.topic = p_topic and h.ref = p_ref
     order by h.created_at desc, h.position desc limit 1))
$$;

-- Cancels a message by ref or id: 'canceled', 'too-late' or 'unknown'. Provisional until the transaction commits. Raises
-- OB002 for an invalid ref or id.
create function outbox.cancel(topic text, ref text default null, id uuid default null) returns text language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  target uuid;
  found_state outbox.state;
begin
  perform outbox.require_handle(topic, ref, id);
  loop
    target := coalesce(cancel.id, outbox.message_of_ref(cancel.topic, cancel.ref));
    if outbox.lock_open(target, cancel.topic, false) then
      update only outbox.message m set state = 'canceled', xid = pg_current_xact_id(), updated_at = outbox.clock() where m.id = target;
      return 'canceled';
    end if;
    -- The transaction that it waited for may have given the ref to another message.
    exit when cancel.id is not null or target is not distinct from outbox.message_of_ref(cancel.topic, cancel.ref);
  end loop;
  select m.state into found_state from outbox.message m where m.id = target and m.topic = cancel.topic;
  -- The history after the table: a message that is archived in between is found in one of them.
  if not found then
    select a.state into found_state from outbox.message_all a where a.id = target and a.topic = cancel.topic limit 1;
  end if;
  return case when found_state is null then 'unknown' when found_state = 'canceled' then 'canceled' else 'too-late' end;
end
$$;

-- Cancels the messages of a key that are waiting, or retrying or blocked and certainly not published; how many. Provisional until the
-- transaction commits. Raises OB002 for an invalid key.
create function outbox.cancel_key(topic text, key text) returns integer language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  open uuid[];
  locked uuid[];
begin
  if outbox.is_topic_name(topic) is not true then
    perform outbox.refuse(jsonb_build_object('code', 'OUTBOX_TOPIC_INVALID', 'message', format('"%s" is no name for a topic.', topic)));
  end if;
  if octet_length(key) between 1 and 256 is not true then
    perform outbox.refuse(jsonb_build_object('code', 'OUTBOX_KEY_INVALID', 'message', format('The key has %s bytes.', octet_length(key))));
  end if;
  loop
    begin
      open := array(select m.id from only outbox.message m
        where m.topic = cancel_key.topic and m.key = cancel_key.key and m.lane >= 0 and m.state in ('waiting', 'retrying', 'blocked')
          and outbox.is_open(m, false));
      -- In one order, so that two such calls, or a settle, do not wait for each other.
      locked := array(select m.id from only outbox.message m where m.id = any(open) and outbox.is_open(m, false)
        order by m.id for no key update);
      if cardinality(locked) = cardinality(open) then
        update only outbox.message m set state = 'canceled', xid = pg_current_xact_id(), updated_at = outbox.clock() where m.id = any(locked);
        return cardinality(locked);
      end if;
      -- Others keep no lock, as in outbox.lock_open.
      raise exception 'outbox: a message of the key is no longer open' using errcode = 'OB003';
    exception when sqlstate 'OB003' then null;
    end;
  end loop;
end
$$;

-- Moves the due time of a waiting message: 'rescheduled', 'too-late', 'unknown', 'out-of-range', or 'past-expiry' if it would have
-- expired by then. For the library: the answer leaves the transaction usable.
create function outbox.move_due(p_topic text, p_ref text, p_id uuid, p_after interval, p_at timestamptz) returns text
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  target uuid;
  now_at timestamptz := outbox.clock() + (clock_timestamp() - now());
  due timestamptz := coalesce(p_at, now_at + p_after);
begin
  if due is null or due = '-infinity' or p_after < interval '0' or due > now_at + outbox.exact((outbox.policy(p_topic)).delay_limit) then
    return 'out-of-range';
  end if;
  loop
    target := coalesce(p_id, outbox.message_of_ref(p_topic, p_ref));
    exit when outbox.lock_open(target, p_topic, true);
    continue when p_id is null and target is distinct from outbox.message_of_ref(p_topic, p_ref);
    -- The history after the table, as in outbox.cancel.
    perform from outbox.message m where m.id = target and m.topic = p_topic;
    if found then return 'too-late'; end if;
    perform from outbox.message_all a where a.id = target and a.topic = p_topic;
    return case when found then 'too-late' else 'unknown' end;
  end loop;
  update only outbox.message m set due_at = greatest(due, now_at), updated_at = outbox.clock(),
    first_due_at = case when m.first_due_at is not null then greatest(due, now_at) end,
    workflow_due_at = case when m.workflow_id = outbox.message_workflow_id(m.id) then m.workflow_due_at else greatest(due, now_at) end
  where m.id = target and (due <= now_at or m.expires_at > due) is not false;
  return case when found then 'rescheduled' else 'past-expiry' end;
end
$$;

-- Moves the due time of a waiting message: 'rescheduled', 'too-late' or 'unknown'. Raises OB002 for a time out of range or at which it
-- will have expired, and for an invalid ref or id.
create function outbox.reschedule(
  topic text, ref text default null, id uuid default null, after interval default null, at timestamptz default null
) returns text language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  answer text;
begin
  perform outbox.require_handle(topic, ref, id);
  if (after is null) = (at is null) then
    perform outbox.refuse('{"code": "OUTBOX_OPTION_INVALID", "message": "Give a delay or an instant, and not both."}');
  end if;
  answer := outbox.move_due(topic, ref, id, after, at);
  if answer = 'out-of-range' then
    perform outbox.refuse(jsonb_build_object('code', 'OUTBOX_DELAY_OUT_OF_RANGE',
      'message', format('%s is negative, or beyond the longest delay of the topic "%s", %s.', coalesce(after::text, at::text), topic,
        (outbox.policy(topic)).delay_limit)));
  end if;
  if answer = 'past-expiry' then
    perform outbox.refuse(jsonb_build_object('code', 'OUTBOX_EXPIRY_BEFORE_DUE', 'message', 'The message will have expired by the new due time.'));
  end if;
  return answer;
end
$$;

-- =====================================================================================================================
-- The claim
-- Functions, so that plans are made once per connection: planning took two thirds of the time of a small claim.
-- "Late" rows are at or below the cursor, but were not visible in the lane's snapshot.
-- =====================================================================================================================

-- The first `p_limit` messages of a lane in the log that its cursor and snapshot have not passed, with what is needed to send them.
-- Inlined into its callers.
--
-- While a lane has two cursors, either can be given first, and the other is what the answer leaves out: from the lower one, this walks
-- from there by position; from the higher one, it reads all late rows.
--
-- Why three branches and `position + 0`: an OR, or a late branch that walks the position index, costs 40 to 90 ms per
-- claim at a million rows instead of half a millisecond. Why the transactions that were running are joined one by one: as
-- `= any(…)` they become a filter over the whole lane while the table has not been analyzed yet.
create function outbox.claimable_in_log(
  p_topic text, p_lane integer, p_limit integer, p_cursor bigint, p_snapshot pg_snapshot, p_other_cursor bigint, p_other_snapshot pg_snapshot
)
returns table (
  id uuid, "position" bigint, xid xid8, key text, payload text, content_type text, headers jsonb, workflow_id text, attempts integer,
  created_at timestamptz
) language sql stable
as $$
  (select m.id, m.position, m.xid, m.key, m.payload, 'application/json'::text as content_type, m.headers, m.workflow_id, m.attempts, m.created_at
   from outbox.log m where m.topic = p_topic and m.lane = p_lane and m.state = 'ready'
     and m.position > 0 and m.position > p_cursor
     and (p_other_cursor is null or m.position > p_other_cursor or not pg_visible_in_snapshot(m.xid, p_other_snapshot))
   order by m.position limit p_limit)
  union all
  (select m.id, m.position, m.xid, m.key, m.payload, 'application/json'::text as content_type, m.headers, m.workflow_id, m.attempts, m.created_at
   from outbox.log m where m.topic = p_topic and m.lane = p_lane and m.state = 'ready'
     and m.position + 0 <= p_cursor and m.xid >= pg_snapshot_xmax(p_snapshot)
     and (p_other_cursor is null or m.position > p_other_cursor or not pg_visible_in_snapshot(m.xid, p_other_snapshot)))
  union all
  (select m.id, m.position, m.xid, m.key, m.payload, 'application/json'::text as content_type, m.headers, m.workflow_id, m.attempts, m.created_at
   from pg_snapshot_xip(p_snapshot) running (xid) cross join lateral (
     select * from outbox.log r where r.topic = p_topic and r.lane = p_lane and r.state = 'ready' and r.xid = running.xid
       and r.position + 0 <= p_cursor offset 0) m
   where (p_other_cursor is null or m.position > p_other_cursor or not pg_visible_in_snapshot(m.xid, p_other_snapshot)))
  order by position limit p_limit
$$;

-- The same of all messages.
create function outbox.claimable(
  p_topic text, p_lane integer, p_limit integer, p_cursor bigint, p_snapshot pg_snapshot, p_other_cursor bigint, p_other_snapshot pg_snapshot
)
returns table (
  id uuid, "position" bigint, xid xid8, key text, payload text, content_type text, headers jsonb, workflow_id text, attempts integer,
  created_at timestamptz, expires_at timestamptz, sent boolean, due_at timestamptz
) language sql stable
as $$
  select l.*, null::timestamptz, false, null::timestamptz from outbox.claimable_in_log(p_topic, p_lane, p_limit, p_cursor, p_snapshot, p_other_cursor, p_other_snapshot) l
  union all
  (select m.id, m.position, m.xid, m.key, m.payload, m.content_type, m.headers, m.workflow_id, m.attempts, m.created_at, m.expires_at, m.published_at is not null, m.due_at
   from only outbox.message m where m.topic = p_topic and m.lane = p_lane and m.state = 'ready'
     and m.position > 0 and m.position > p_cursor
     and (p_other_cursor is null or m.position > p_other_cursor or not pg_visible_in_snapshot(m.xid, p_other_snapshot))
   order by m.position limit p_limit)
  union all
  (select m.id, m.position, m.xid, m.key, m.payload, m.content_type, m.headers, m.workflow_id, m.attempts, m.created_at, m.expires_at, m.published_at is not null, m.due_at
   from only outbox.message m where m.topic = p_topic and m.lane = p_lane and m.state = 'ready'
     and m.position + 0 <= p_cursor and m.xid >= pg_snapshot_xmax(p_snapshot)
     and (p_other_cursor is null or m.position > p_other_cursor or not pg_visible_in_snapshot(m.xid, p_other_snapshot)))
  union all
  (select m.id, m.position, m.xid, m.key, m.payload, m.content_type, m.headers, m.workflow_id, m.attempts, m.created_at, m.expires_at, m.published_at is not null, m.due_at
   from pg_snapshot_xip(p_snapshot) running (xid) cross join lateral (
     select * from only outbox.message r where r.topic = p_topic and r.lane = p_lane and r.state = 'ready' and r.xid = running.xid
       and r.position + 0 <= p_cursor offset 0) m
   where (p_other_cursor is null or m.position > p_other_cursor or not pg_visible_in_snapshot(m.xid, p_other_snapshot)))
  order by position limit p_limit
$$;

-- The freed keys of a lane, whose row has `p_snapshot`. Inlined into its callers.
--
-- Why not all that there are: while an old snapshot exists, those that were deleted stay in every index, and a search that finds none would
-- read them all. Once a statement has found none, only transactions that its snapshot could not see can put one there: those that had not
-- begun, and those that were running.
create function outbox.freed_since(p_topic text, p_lane integer, p_snapshot pg_snapshot)
returns table (key text, place tid) language sql stable
as $$
  select f.key, f.ctid from outbox.freed_key f
  where f.topic = p_topic and f.lane = p_lane and f.xid >= coalesce(pg_snapshot_xmax(p_snapshot), '0'::xid8)
  union all
  select f.key, f.place from pg_snapshot_xip(p_snapshot) running (xid) cross join lateral (
    select r.key, r.ctid as place from outbox.freed_key r where r.topic = p_topic and r.lane = p_lane and r.xid = running.xid offset 0) f
$$;

-- True if there are messages beside the log that the cursor and the snapshot of a lane have not passed.
--
-- Why not whether the lane has ready ones beside the log at all: while an old snapshot exists, those that are confirmed, retried or
-- archived stay in the index, and a search that finds none would read them all. Why an order and a limit instead of exists: the planner
-- estimates a third of the table and would scan it. Why a function of its own: with `enable_sort`, it would sort instead.
create function outbox.has_exceptions(p_topic text, p_lane integer, p_cursor bigint, p_snapshot pg_snapshot) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
begin
  return (select m.id from only outbox.message m where m.topic = p_topic and m.lane = p_lane and m.state = 'ready'
      and m.position > 0 and m.position > p_cursor order by m.position limit 1) is not null
    or (select m.id from only outbox.message m where m.topic = p_topic and m.lane = p_lane and m.state = 'ready'
      and m.position + 0 <= p_cursor and m.xid >= pg_snapshot_xmax(p_snapshot) order by m.xid limit 1) is not null
    or exists (select from pg_snapshot_xip(p_snapshot) running (xid) cross join lateral (
      select from only outbox.message m where m.topic = p_topic and m.lane = p_lane and m.state = 'ready'
        and m.xid = running.xid and m.position + 0 <= p_cursor offset 0) m);
end
$$;

-- True if a walk by position from the late cursor of a lane finds its next messages before it has read as many rows as there are late ones.
-- Else these are so few, or so far apart, that it costs less to read them all and to sort them. Both are tried to four times as many rows
-- again and again, so that the cheaper one decides what this costs, and all claims together read no more than a few times what lies
-- between the first and the last late row.
--
-- Why a window: a walk that does not find enough must know whether it has come to the end, without reading all of it again.
create function outbox.late_are_dense(
  p_topic text, p_lane integer, p_limit integer, p_cursor bigint, p_snapshot pg_snapshot, p_late_cursor bigint
) returns boolean language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  reach bigint := p_limit * 2::bigint;
begin
  loop
    if (select count(*) filter (where f.late) >= p_limit or count(*) filter (where f.n = reach) = 0 from (
        select * from (
          select row_number() over () as n,
            not outbox.is_passed(p_cursor, p_snapshot, null::bigint, null::pg_snapshot, w.position, w.xid) as late
          from (select m.position, m.xid from outbox.log m where m.topic = p_topic and m.lane = p_lane and m.state = 'ready'
            and m.position > 0 and m.position > p_late_cursor order by m.position limit reach) w) r
        where r.late or r.n = reach limit p_limit) f)
      and (select count(*) filter (where f.late) >= p_limit or count(*) filter (where f.n = reach) = 0 from (
        select * from (
          select row_number() over () as n,
            not outbox.is_passed(p_cursor, p_snapshot, null::bigint, null::pg_snapshot, w.position, w.xid) as late
          from (select m.position, m.xid from only outbox.message m where m.topic = p_topic and m.lane = p_lane and m.state = 'ready'
            and m.position > 0 and m.position > p_late_cursor order by m.position limit reach) w) r
        where r.late or r.n = reach limit p_limit) f)
    then
      return true;
    end if;
    if (select count(*) < reach from (
      (select from outbox.log m where m.topic = p_topic and m.lane = p_lane and m.state = 'ready' and m.xid >= pg_snapshot_xmax(p_snapshot)
        order by m.xid limit reach)
      union all
      (select from pg_snapshot_xip(p_snapshot) running (xid) cross join lateral (
        select from outbox.log m where m.topic = p_topic and m.lane = p_lane and m.state = 'ready' and m.xid = running.xid offset 0) m limit reach)
      union all
      (select from only outbox.message m where m.topic = p_topic and m.lane = p_lane and m.state = 'ready' and m.xid >= pg_snapshot_xmax(p_snapshot)
        order by m.xid limit reach)
      union all
      (select from pg_snapshot_xip(p_snapshot) running (xid) cross join lateral (
        select from only outbox.message m where m.topic = p_topic and m.lane = p_lane and m.state = 'ready' and m.xid = running.xid offset 0) m limit reach)
      limit reach) l)
    then
      return false;
    end if;
    reach := reach * 4;
  end loop;
end
$$;

-- The claimable messages that are behind a blocking message of their key. Called by claims where any message blocks.
--
-- Why each key is searched once: a thousand messages of one key may be leaving `blocked`, while an old snapshot keeps the hundred
-- thousand before them in the index.
create function outbox.blocked(
  p_topic text, p_lane integer, p_limit integer, p_cursor bigint, p_snapshot pg_snapshot, p_other_cursor bigint,
  p_other_snapshot pg_snapshot, p_failed_blocks boolean
) returns setof uuid language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select k.id from (
    select f.id, f.position, min(f.blocker) over (partition by f.key) as blocker
    from (
      select p.id, p.key, p.position, case when row_number() over (partition by p.key order by p.position) = 1 then least(
          (select o.position from only outbox.message o where o.topic = p_topic and o.lane = p_lane and o.key = p.key
             and o.state in ('retrying', 'blocked') order by o.position limit 1),
          case when p_failed_blocks then (select o.position from only outbox.message o where o.topic = p_topic and o.lane = p_lane
             and o.key = p.key and o.state = 'failed' order by o.position limit 1) end) end as blocker
      from outbox.claimable(p_topic, p_lane, p_limit, p_cursor, p_snapshot, p_other_cursor, p_other_snapshot) p where p.key is not null
    ) f
  ) k where k.blocker < k.position or false and exists (select from outbox.log);
end
$$;

-- The next messages of a lane that its owner has not published yet, in order of position; none if the topic is paused.
-- `p_ctid`: the last known ctid of the lane's row, which is tried first, because a lookup by key passes all dead versions that
-- an old snapshot keeps.
--
-- The answer is one row with a column for all values of a kind, because reading a thousand rows of sixteen values costs a client
-- five times as much: `ids` without separators, `positions` and `created` (milliseconds since 1970) with commas, `payloads`
-- without separators, of `lengths` bytes in UTF-8 each. `keys` and `headers` are arrays in JSON, null if no message has any.
-- `others`, in JSON, says what else is not as usual, by the index in the batch from 0. `p_bytes` bounds payloads and headers, as
-- text; a larger first message goes alone. `freed`: outbox.release_blocked has something to look at. `unblocked`: true if no message of the
-- lane is retrying or blocked, which its row does not say yet; null: not looked for, as without `p_look`. `unfailed`: the same of failed
-- ones, where they block. `share`: the most that one call of outbox.take_rate lets go; null: the topic has no rate. `at`: when it was made,
-- in milliseconds since 1970; null without messages.
--
-- Why STABLE: claimable messages, the owner of the lane and blocked keys must be read from one snapshot, that of the calling
-- statement, which the statements of a stable function share.
-- Why several statements: PostgreSQL prepares all of a statement before it runs, which takes longer than to claim a few
-- messages. What is blocked is asked only where something may be. Whether anything is at all is asked with `p_look`: while an old snapshot
-- exists, this reads all that was. Without, each key is asked for, which is as true.
-- Why the settings: every branch must walk its index, whatever the statistics; a generic plan without alternatives is the same
-- at every claim.
-- Why `false and …`: what a query reaches only through a function that is inlined, PostgreSQL does not know while it makes the plan. A leaf
-- that is created in that moment would be missing in the plan from then on. Named in the query, it makes the plan stale.
-- Why it is written with the same query twice: most claims find no exceptions, and to read both tables costs a fifth more.
-- Only exceptions expire; not one that was published before, and is sent again. A receipt may have reset its `sends`.
create function outbox.write_claim() returns void language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $write$
declare
  batch text := $batch$
  with retried as materialized (
    select p_look and not exists (select from only outbox.message b where b.topic = p_topic and b.lane = p_lane and b.state in ('retrying', 'blocked')) as over
  ), failed as materialized (
    select p_look and not exists (select from only outbox.message b where b.topic = p_topic and b.lane = p_lane and b.state = 'failed') as over
  ), blocking as materialized (
    select blocking_xid is not null and not (select r.over from retried r)
      or p_failed_blocks and failed_xid is not null and not (select f.over from failed f)
      or false and exists (select from outbox.log) as any
  ), batch as (
    -- One window with one frame, which ends with the row: no row is stored for it.
    select u.*, row_number() over w as n, sum(u.size) over w - u.size as before,
      u.workflow_id is not null and u.workflow_id <> (select i.id || '/lane/' || p_topic || '/' || p_lane from outbox.installation i)
        and right(u.workflow_id, 45) = '/message/' || u.id::text as own_workflow,
      coalesce(pg_visible_in_snapshot(u.xid, p_suspect), false) as suspect,
      case when u.key is not null and (select b.any from blocking b)
        then u.id in (select outbox.blocked(p_topic, p_lane, p_limit, p_cursor, p_snapshot, %2$s, p_failed_blocks)) else false end as blocked
    from (select c.*, octet_length(c.payload) + coalesce(octet_length(c.headers::text), 0) as size
      from outbox.%1$s(p_topic, p_lane, p_limit, p_cursor, p_snapshot, %2$s) c offset 0) u
    window w as (order by u.position rows unbounded preceding)
  )
  select pg_current_snapshot()::text, true, false,
    count(*) = p_limit or count(*) > count(*) filter (where b.before < p_bytes),
    exists (select from outbox.freed_since(p_topic, p_lane, freed_snapshot)),
    case when blocking_xid is not null and p_look and count(b.key) > 0 then (select r.over from retried r) end,
    case when p_failed_blocks and failed_xid is not null and p_look and count(b.key) > 0 then (select f.over from failed f) end,
    string_agg(b.id::text, '') filter (where b.before < p_bytes),
    string_agg(b.position::text, ',') filter (where b.before < p_bytes),
    string_agg(((date_part('epoch', b.created_at) * 1000000)::bigint / 1000)::text, ',') filter (where b.before < p_bytes),
    string_agg(case when getdatabaseencoding() = 'UTF8' then octet_length(b.payload) else octet_length(convert_to(b.payload, 'UTF8')) end::text, ',')
      filter (where b.before < p_bytes),
    string_agg(b.payload, '') filter (where b.before < p_bytes),
    case when count(b.key) > 0 then json_agg(b.key) filter (where b.before < p_bytes) end::text,
    case when count(b.headers) > 0 then json_agg(b.headers) filter (where b.before < p_bytes) end::text,
    (json_agg(json_build_object('n', b.n - 1, 'contentType', b.content_type, 'attempts', b.attempts,
        'workflowId', case when b.own_workflow then b.workflow_id end, 'suspect', b.suspect, 'blocked', b.blocked%3$s))
      filter (where b.before < p_bytes
        and (b.content_type <> 'application/json' or b.attempts > 0 or b.own_workflow or b.suspect or b.blocked%4$s)))::text,
    (select (t.rate_messages + t.lanes - 1) / t.lanes from outbox.topic t where t.name = p_topic),
    date_part('epoch', outbox.clock()) * 1000
  from batch b
$batch$;
begin
  execute format($function$
create or replace function outbox.claim(
  p_topic text, p_lane integer, p_limit integer, p_cursor bigint, p_snapshot pg_snapshot, p_owner uuid, p_bytes bigint,
  p_failed_blocks boolean, p_suspect pg_snapshot, p_ctid tid, p_late_cursor bigint, p_late_snapshot pg_snapshot, p_look boolean
) returns table (
  snapshot text, owned boolean, paused boolean, truncated boolean, freed boolean, unblocked boolean, unfailed boolean, ids text, positions text,
  created text, lengths text, payloads text, keys text, headers text, others text, share integer, at float8
) language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $body$
#variable_conflict use_column
declare
  exceptions boolean;
  freed_snapshot pg_snapshot;
  blocking_xid xid8;
  failed_xid xid8;
begin
  -- The snapshots of a standby contain no running transactions: rows that commit later would count as passed.
  if pg_is_in_recovery() then
    raise exception 'outbox: a claim was sent to a standby' using errcode = 'read_only_sql_transaction',
      hint = 'Connect relays to the primary, and let no proxy send their queries elsewhere.';
  end if;
  select o.freed_snapshot, o.blocking_xid, o.failed_xid,
    p_late_cursor is not null or outbox.has_exceptions(p_topic, p_lane, p_cursor, p_snapshot)
  into freed_snapshot, blocking_xid, failed_xid, exceptions
  from (
    select l.freed_snapshot, l.blocking_xid, l.failed_xid from outbox.lane l
    where l.ctid = p_ctid and l.topic = p_topic and l.n = p_lane and outbox.lane_owned(l, p_owner)
    union all
    select l.freed_snapshot, l.blocking_xid, l.failed_xid from outbox.lane l
    where l.topic = p_topic and l.n = p_lane and outbox.lane_owned(l, p_owner)
    limit 1) o;
  owned := found;
  paused := outbox.is_paused(p_topic);
  if not owned or paused then
    snapshot := pg_current_snapshot();
    truncated := false;
    freed := false;
    return next;
    return;
  end if;
  if p_late_cursor is not null and outbox.late_are_dense(p_topic, p_lane, p_limit, p_cursor, p_snapshot, p_late_cursor) then
    select p_cursor, p_snapshot, p_late_cursor, p_late_snapshot into p_late_cursor, p_late_snapshot, p_cursor, p_snapshot;
  end if;
  if exceptions then
    return query %s;
  else
    return query %s;
  end if;
end $body$
$function$, format(batch, 'claimable', 'p_late_cursor, p_late_snapshot', $others$, 'expiresAt', floor(extract(epoch from b.expires_at) * 1000),
        'expiresInMs', case when not b.sent then ceil(extract(epoch from b.expires_at - outbox.clock()) * 1000) end,
        'dueAt', floor(extract(epoch from b.due_at) * 1000), 'resent', b.sent$others$,
      ' or b.expires_at is not null or b.due_at is not null or b.sent'), format(batch, 'claimable_in_log', 'null, null', '', ''));
end
$write$;
select outbox.write_claim();

-- Moves the lane's cursor past a batch, and notes what of it was acknowledged, if anything. The new ctid of the lane's row; null,
-- and nothing is written, if the lane has another owner, or has passed more than this. `p_ctid` is as for a claim.
--
-- `p_blocks`: this transaction makes messages retrying or blocked. `p_unblocked`: a claim with this snapshot has found none. `p_fails` and
-- `p_unfailed`: the same of failed ones.
--
-- Not `p_durable`: the transaction waits for no disk and no standby. A crash may undo it, and the batch is sent again.
--
-- Why a function: planning these statements takes three times as long as to run them.
create function outbox.pass(
  p_topic text, p_lane integer, p_owner uuid, p_ctid tid, p_cursor bigint, p_snapshot pg_snapshot, p_lease_ms float8,
  p_batch uuid, p_first bigint, p_last bigint, p_count integer, p_partitions jsonb, p_durable boolean,
  p_late_cursor bigint, p_late_snapshot pg_snapshot, p_blocks boolean, p_unblocked pg_snapshot, p_fails boolean, p_unfailed pg_snapshot
) returns tid language plpgsql volatile
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
declare
  row_ctid tid;
begin
  update outbox.lane l
  set cursor = p_cursor, snapshot = p_snapshot, late_cursor = p_late_cursor, late_snapshot = p_late_snapshot,
    blocking_xid = case when p_blocks then pg_current_xact_id() when not outbox.none_left(l.blocking_xid, p_unblocked) then l.blocking_xid end,
    failed_xid = case when p_fails then pg_current_xact_id() when not outbox.none_left(l.failed_xid, p_unfailed) then l.failed_xid end,
    alive_until = clock_timestamp() + p_lease_ms * interval '1 ms'
  where l.ctid = p_ctid and l.topic = p_topic and l.n = p_lane and outbox.lane_owned(l, p_owner)
    and outbox.lane_may_pass(l, p_cursor, p_snapshot, p_late_cursor, p_late_snapshot)
  returning l.ctid into row_ctid;
  if row_ctid is null then
    update outbox.lane l
    set cursor = p_cursor, snapshot = p_snapshot, late_cursor = p_late_cursor, late_snapshot = p_late_snapshot,
      blocking_xid = case when p_blocks then pg_current_xact_id() when not outbox.none_left(l.blocking_xid, p_unblocked) then l.blocking_xid end,
      failed_xid = case when p_fails then pg_current_xact_id() when not outbox.none_left(l.failed_xid, p_unfailed) then l.failed_xid end,
      alive_until = clock_timestamp() + p_lease_ms * interval '1 ms'
    where l.topic = p_topic and l.n = p_lane and outbox.lane_owned(l, p_owner)
      and outbox.lane_may_pass(l, p_cursor, p_snapshot, p_late_cursor, p_late_snapshot)
    returning l.ctid into row_ctid;
  end if;
  if row_ctid is not null and p_batch is not null then
    insert into outbox.batch (id, topic, lane, first_position, last_position, count, published_at, partitions)
    values (p_batch, p_topic, p_lane, p_first, p_last, p_count, outbox.clock(), p_partitions)
    on conflict do nothing;
  end if;
  if not p_durable then perform set_config('synchronous_commit'::text, 'off'::text, true); end if;
  return row_ctid;
end
$$;

-- =====================================================================================================================
-- Waiting and release
-- =====================================================================================================================

-- What became visible since the snapshot of the last look, by lane, and the time until the next message is due; one row with
-- a null topic if there is no news. Null as snapshot: the first look, without news. `xids`: the transactions that made messages
-- ready or canceled them, with commas; null if there were more than 100 messages.
--
-- `p_from`: every message that the last look saw and that is due before this time has been released; null: unknown.
-- `next_from` is for the next sweep and look. Messages before it are released, but an old snapshot keeps their index entries,
-- and a walk from the start would read a million of them. Messages that became visible since then may be due before it, so
-- the news is considered, too. This misses a message that was moved to an earlier due time by a transaction that commits more
-- than a second after that time: so the caller looks without `p_from` now and then.
create function outbox.look(p_snapshot pg_snapshot, p_from timestamptz) returns table (
  snapshot text, next_due_in_ms float8, next_from timestamptz, topic text, lane integer, ready boolean, waiting boolean, xids text
) language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  return query
  select pg_current_snapshot()::text,
    ceil(extract(epoch from least(one.due, min(x.due) over ()) - outbox.clock()) * 1000)::float8,
    least(one.due, min(x.due) over (), outbox.clock() - interval '1 second'),
    x.topic, x.lane, x.ready, x.waiting,
    case when x.count <= 100 and sum(x.count) over () <= 1000 then array_to_string(x.xids, ',') end
  from (select (select min(due_at) from only outbox.message
      where state in ('waiting', 'retrying') and due_at >= coalesce(p_from, '-infinity')) as due) one left join (
    select n.topic, n.lane, bool_or(n.state in ('ready', 'canceled')) as ready, bool_or(n.state in ('waiting', 'retrying')) as waiting,
      min(n.due_at) filter (where n.state in ('waiting', 'retrying')) as due, count(*) as count,
      -- Not more than a look may name: after hours without one there may be millions.
      array_agg(n.xid) filter (where n.state in ('ready', 'canceled') and n.nth <= 1000) as xids
    from (select *, row_number() over () as nth from (
      select topic, lane, state, due_at, xid from outbox.log where position > 0 and xid >= pg_snapshot_xmax(p_snapshot)
      union all
      select m.topic, m.lane, m.state, m.due_at, m.xid from pg_snapshot_xip(p_snapshot) running (xid) cross join lateral (
        select * from outbox.log r where r.position > 0 and r.xid = running.xid offset 0) m
      union all
      select topic, lane, state, due_at, xid from only outbox.message where position > 0 and xid >= pg_snapshot_xmax(p_snapshot)
      union all
      select m.topic, m.lane, m.state, m.due_at, m.xid from pg_snapshot_xip(p_snapshot) running (xid) cross join lateral (
        select * from only outbox.message r where r.position > 0 and r.xid = running.xid offset 0) m
    ) visible) n group by n.topic, n.lane
  ) x on true;
end
$$;

-- The live messages that became visible since `p_snapshot`, without their content, for those who follow what is new: at most `p_limit` of
-- transactions from its xmax on, the newest, and at most as many, in no order, of transactions that were running then. A function for its
-- settings: without them a leaf that has not been analyzed is read from its beginning.
create function outbox.visible_since(p_snapshot pg_snapshot, p_limit integer) returns table (
  id uuid, topic text, lane integer, "position" bigint, xid xid8, key text, ref text, state outbox.state, workflow_id text,
  due_at timestamptz, attempts integer, last_error text, created_at timestamptz, updated_at timestamptz
) language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
begin
  return query
  select m.id, m.topic, m.lane, m.position, m.xid, m.key, m.ref, m.state, m.workflow_id, m.due_at, m.attempts, m.last_error, m.created_at,
    m.updated_at
  from (
    (select * from outbox.message n where n.position > 0 and n.xid >= pg_snapshot_xmax(p_snapshot) order by n.xid desc limit p_limit)
    union all
    (select r.* from pg_snapshot_xip(p_snapshot) running (xid) cross join lateral (
       select * from outbox.message m where m.position > 0 and m.xid = running.xid offset 0) r limit p_limit)
  ) m;
end
$$;

-- The waiting messages of a key up to a due time and position, in whose order they are released. Inlined into its callers, which have the
-- settings of outbox.release_locked.
--
-- The states are those of message_open_key, and `case` is its column: no other index fits, whatever the statistics say.
create function outbox.waiting_of_key(p_topic text, p_key text, p_due timestamptz, p_position bigint)
returns table (id uuid, due_at timestamptz, "position" bigint) language sql stable
as $$
  select w.id, case when w.state = 'waiting' then w.due_at end, w.position from only outbox.message w
  where w.topic = p_topic and w.key = p_key and w.lane >= 0 and w.state in ('waiting', 'retrying', 'blocked')
    and (case when w.state = 'waiting' then w.due_at end, w.position) <= (p_due, p_position)
$$;

-- What a release must know of a due message, so that it need not read its row again.
create type outbox.due_message as (
  id uuid, topic text, key text, "position" bigint, due_at timestamptz, state outbox.state
);

-- Makes due messages ready that the caller has just locked, but none behind an earlier one of its key that is not among them. `locked`: how
-- many it was given, of which the last is due at `last_due`; `lanes`: those of the released ones, as "topic/lane". `topics`, `keys`: those of
-- messages that it has not released; it may name others, too.
--
-- A waiting message gets a new, higher position, so of one key they must become ready in the order of due times and positions. Relays
-- lock them concurrently: relay 1 the first, relay 2 the second, which would be ahead if it committed first. So a message stays waiting
-- behind an earlier one of its key that is waiting in the snapshot of this statement, which is later than the locks, and that is not
-- in `p_due`. What is not waiting there has been released before, at a lower position, or was canceled. While a transaction that is not
-- committed has canceled or moved the earlier one, it waits there, and that may be rolled back. Retrying messages keep their positions, by
-- which claims order them; they wait for nothing.
--
-- `held` is found at the cost of one row per key. Its row comparison includes some that are behind all of `p_due`, so for what it names
-- each message is looked at. Why `unnest`: its estimate is low, and PostgreSQL hashes what it believes to be small.
create function outbox.release_locked(p_due outbox.due_message[])
returns table (locked integer, released integer, last_due timestamptz, lanes text[], topics text[], keys text[])
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
set jit = off
as $$
#variable_conflict use_column
begin
  return query
  with due as materialized (
    select d.* from unnest(p_due) d
  ), held as materialized (
    select array_agg(k.topic) as topics, array_agg(k.key) as keys from (
      select d.topic, d.key, max(d.due_at) as due_at, max(d.position) as position from due d
      where d.state = 'waiting' and d.key is not null group by d.topic, d.key
    ) k cross join lateral (
      select from outbox.waiting_of_key(k.topic, k.key, k.due_at, k.position) w
      where w.id not in (select o.id from unnest(p_due) o)
      order by w.due_at, w.position limit 1) w
  ), placed as materialized (
    select d.id, case when d.state = 'waiting' then nextval('outbox.message_position') else d.position end as position
    from (
      select * from due d
      where not (d.state = 'waiting' and d.key is not null
        and (d.topic, d.key) in (select o.topic, o.key from held h, unnest(h.topics, h.keys) o (topic, key))
        and (select w.id from outbox.waiting_of_key(d.topic, d.key, d.due_at, d.position) w
          where w.id not in (select o.id from unnest(p_due) o)
          order by w.due_at, w.position limit 1) is not null)
      order by d.due_at, d.position) d
  ), freed as (
    update only outbox.message m set state = 'ready', xid = pg_current_xact_id(), position = p.position, updated_at = outbox.clock()
    from placed p where m.id = p.id
    returning m.topic, m.lane
  )
  select (select count(*)::integer from due), (select count(*)::integer from freed), (select max(d.due_at) from due d),
    array(select f.topic || '/' || f.lane from freed f group by f.topic, f.lane), h.topics, h.keys
  from held h;
end
$$;

-- One part of outbox.sweep, without the keys `p_without_…`.
create function outbox.sweep_part(
  p_punctual text[], p_limit integer, p_grace interval, p_from timestamptz, p_without_topics text[], p_without_keys text[]
) returns table (locked integer, released integer, last_due timestamptz, lanes text[], topics text[], keys text[])
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
set jit = off
as $$
#variable_conflict use_column
begin
  return query
  select r.* from outbox.release_locked(array(
    select (m.id, m.topic, m.key, m.position, m.due_at, m.state)::outbox.due_message from only outbox.message m
    where m.state in ('waiting', 'retrying') and m.due_at <= outbox.clock() and m.due_at >= coalesce(p_from, '-infinity')
      and (m.due_at <= outbox.clock() - p_grace or m.topic = any(p_punctual))
      and (m.state = 'retrying' or m.key is null
        or (m.topic, m.key) not in (select o.topic, o.key from unnest(p_without_topics, p_without_keys) o (topic, key)))
    order by m.due_at, m.position limit p_limit for update skip locked)) r;
end
$$;

-- Releases overdue messages from `p_from` on, in the order of due times and positions, at most `p_limit`: those of
-- `p_punctual` topics as soon as they are due, others `p_grace` later. `next_from`: every message that this sweep could see
-- and that was due before this time is released now, or locked, or behind a locked one of its key. `lanes`: those of the released
-- messages, as "topic/lane".
--
-- While most of what it locks is behind others, it goes on without their keys: a transaction that holds the first of a thousand
-- messages of a key must not keep the sweeps from all other keys.
create function outbox.sweep(p_punctual text[], p_limit integer, p_grace interval, p_from timestamptz)
returns table (released integer, next_from timestamptz, lanes text[]) language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  part record;
  part_from timestamptz := p_from;
  is_full boolean;
  without_topics text[] := '{}';
  without_keys text[] := '{}';
begin
  released := 0;
  lanes := '{}';
  loop
    select * into part
    from outbox.sweep_part(p_punctual, p_limit - released, p_grace, part_from, without_topics, without_keys);
    is_full := part.locked = p_limit - released;
    released := released + part.released;
    lanes := lanes || part.lanes;
    exit when not is_full or released * 2 >= p_limit;
    part_from := part.last_due;
    without_topics := without_topics || part.topics;
    without_keys := without_keys || part.keys;
  end loop;
  lanes := array(select distinct l.lane from unnest(lanes) l (lane));
  -- A reschedule may commit shortly after the time that it sets.
  next_from := least(outbox.clock() - greatest(p_grace, interval '1 second'), case when is_full then part.last_due end);
  return next;
end
$$;

-- Releases those of the messages that are due, with the earlier due ones of their keys, because none may overtake them; the lanes of
-- what is released, as "topic/lane". What has more than a hundred others before it stays waiting: a sweep releases those.
--
-- Here and in other statements the state of a row that is found by id is compared as `state::text`, which matches no partial index: after
-- a bulk load the statistics say that nothing waits, and the planner would scan all waiting rows for each id.
create function outbox.release_due(p_ids uuid[]) returns table (lanes text[]) language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
set jit = off
as $$
#variable_conflict use_column
begin
  return query
  with asked as materialized (
    select m.id, m.topic, m.key, m.position, m.due_at, m.state from only outbox.message m
    where m.id = any(p_ids) and m.state::text in ('waiting', 'retrying')
  )
  select r.lanes from outbox.release_locked(array(
    select (m.id, m.topic, m.key, m.position, m.due_at, m.state)::outbox.due_message from only outbox.message m
    where m.id = any(array(
        select a.id from asked a where a.state = 'retrying' or a.key is null
        union all
        select w.id from (
          select a.topic, a.key, max(a.due_at) as due_at, max(a.position) as position, count(*) as asked_for from asked a
          where a.state = 'waiting' and a.key is not null group by a.topic, a.key
        ) k cross join lateral (
          select w.id from outbox.waiting_of_key(k.topic, k.key, k.due_at, k.position) w
          order by w.due_at, w.position limit k.asked_for + 100) w))
      and m.state::text in ('waiting', 'retrying') and m.due_at <= outbox.clock()
    for update skip locked)) r;
end
$$;

-- The first blocked message of the key, if it is behind no retrying one and, where those block, behind no failed one. Inlined into its
-- callers, which have the settings of outbox.release_blocked.
create function outbox.free_blocked(p_topic text, p_lane integer, p_key text, p_failed_blocks boolean)
returns table ("position" bigint) language sql stable
as $$
  select f.position from (
    select h.position from only outbox.message h
    where h.topic = p_topic and h.lane = p_lane and h.state = 'blocked' and h.key = p_key order by h.position limit 1) f
  where (select r.position from only outbox.message r
      where r.topic = p_topic and r.lane = p_lane and r.state in ('retrying', 'blocked') and r.state = 'retrying'
        and r.key = p_key and r.position < f.position order by r.position limit 1) is null
    and (not p_failed_blocks or (select r.position from only outbox.message r
      where r.topic = p_topic and r.lane = p_lane and r.state = 'failed' and r.key = p_key and r.position < f.position
      order by r.position limit 1) is null)
$$;

-- Notes the keys of messages that a settle has just made blocked behind nothing that will end: what failed before them does not block,
-- or is over since they were claimed.
create function outbox.note_blocked(p_topic text, p_lane integer, p_ids uuid[]) returns void language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
begin
  insert into outbox.freed_key (topic, lane, key)
  select p_topic, p_lane, k.key from (
    select distinct m.key, (select t.exhausted = 'block-key' from outbox.topic t where t.name = p_topic) is true as failed_blocks
    from only outbox.message m where m.id = any(p_ids) and m.state::text = 'blocked' and m.key is not null offset 0
  ) k cross join lateral outbox.free_blocked(p_topic, p_lane, k.key, k.failed_blocks);
end
$$;

-- Notes which of the next `p_keys` keys with blocked messages, over all lanes, are free although nothing says so: after a change of
-- their topic's policy, or of rows by hand. The last of these keys, where the next call continues; none at the end.
create function outbox.walk_blocked(p_topic text, p_lane integer, p_key text, p_keys integer)
returns table (topic text, lane integer, key text) language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
#variable_conflict use_column
begin
  return query
  with recursive walked as (
    (select 1 as n, h.topic, h.lane, h.key from only outbox.message h
     where h.state = 'blocked' and h.key is not null and (h.topic, h.lane, h.key) > (p_topic collate "C", p_lane, p_key collate "C")
     order by h.topic, h.lane, h.key limit 1)
    union all
    select w.n + 1, h.topic, h.lane, h.key from walked w cross join lateral (
      select x.topic, x.lane, x.key from only outbox.message x
      where x.state = 'blocked' and x.key is not null and (x.topic, x.lane, x.key) > (w.topic, w.lane, w.key)
      order by x.topic, x.lane, x.key limit 1) h
    where w.n < p_keys
  ), noted as (
    insert into outbox.freed_key (topic, lane, key)
    select k.topic, k.lane, k.key from (
      select w.*, (select t.exhausted = 'block-key' from outbox.topic t where t.name = w.topic) is true as failed_blocks
      from walked w offset 0
    ) k cross join lateral outbox.free_blocked(k.topic, k.lane, k.key, k.failed_blocks)
    where (select f.id from outbox.freed_key f
      where f.topic = k.topic and f.lane = k.lane and f.key = k.key and f.id > 0 order by f.id limit 1) is null
  )
  select w.topic, w.lane, w.key from walked w where w.n = p_keys;
end
$$;

-- Makes blocked messages of the lane ready whose keys are free: at most `p_rows`, of the first `p_keys` rows of outbox.freed_key after
-- the key `p_after`, in order and key by key. Only the owner of the lane calls it. `freed`: there are, or may be, more. `next`: to
-- be passed as `p_after`; an empty text at the end, which is also the start. `p_ctid` is as for a claim; `row_ctid` is the new one, null if
-- the row was not written.
--
-- Once none is left of the keys that it deletes, the lane's row says so, in the same transaction. While somebody else has that row locked,
-- it deletes none, and the next call does. It is called in a transaction of its own: a snapshot does not tell that the own one runs.
--
-- Why the settings: statistics from before the messages were blocked say that there are none.
create function outbox.release_blocked(
  p_topic text, p_lane integer, p_failed_blocks boolean, p_after text, p_keys integer, p_rows integer, p_ctid tid
) returns table (freed boolean, released integer, next text, row_ctid tid) language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
declare
  seen_keys text[];
  seen_ctids tid[];
  ids uuid[];
  keys text[];
  positions bigint[];
  befores text[];
  locked uuid[];
  deleted integer;
  own_ctid tid;
  known pg_snapshot;
  now_known pg_snapshot;
begin
  select l.freed_snapshot into known from outbox.lane l where l.ctid = p_ctid and l.topic = p_topic and l.n = p_lane;
  if not found then
    select l.freed_snapshot into known from outbox.lane l where l.topic = p_topic and l.n = p_lane;
  end if;
  if p_after = '' then
    select array_agg(s.key), array_agg(s.place) into seen_keys, seen_ctids
    from (select f.key, f.place from outbox.freed_since(p_topic, p_lane, known) f limit p_keys) s;
    if seen_keys is null then
      return query select false, 0, '', null::tid;
      return;
    end if;
  end if;
  -- More than these, or the rest of them: in the order of keys.
  if p_after <> '' or cardinality(seen_keys) = p_keys then
    select array_agg(s.key), array_agg(s.ctid) into seen_keys, seen_ctids from (
      select f.key, f.ctid from outbox.freed_key f where f.topic = p_topic and f.lane = p_lane and f.id > 0 and f.key > p_after
      order by f.key, f.id limit p_keys) s;
  end if;
  -- Before any message, as a settle does.
  select l.ctid into own_ctid from outbox.lane l where l.ctid = p_ctid and l.topic = p_topic and l.n = p_lane for update skip locked;
  if not found then
    select l.ctid into own_ctid from outbox.lane l where l.topic = p_topic and l.n = p_lane for update skip locked;
  end if;

  with walked as materialized (
    select w.key, lag(w.key, 1, p_after) over (order by w.key) as before
    from (select distinct k.key collate "C" as key from unnest(seen_keys) k (key)) w order by w.key
  ), free as materialized (
    select f.id, w.key, f.position, w.before from walked w cross join lateral (
      select h.id, h.position from only outbox.message h
      where h.topic = p_topic and h.lane = p_lane and h.state = 'blocked' and h.key = w.key
        and h.position < coalesce(case when p_failed_blocks then (select r.position from only outbox.message r
          where r.topic = p_topic and r.lane = p_lane and r.state = 'failed' and r.key = w.key order by r.position limit 1) end,
          9223372036854775807)
      order by h.position limit p_rows) f
    -- Behind a retrying message are all blocked ones of its key: it was claimed when none was blocked before it.
    where exists (select from outbox.free_blocked(p_topic, p_lane, w.key, p_failed_blocks))
    limit p_rows
  )
  select array_agg(f.id), array_agg(f.key), array_agg(f.position), array_agg(f.before) into ids, keys, positions, befores from free f;

  -- Found by id: `state::text` matches no partial index.
  locked := array(select m.id from only outbox.message m where m.id = any(ids) and m.state::text = 'blocked' for update skip locked);
  -- A locked message (by a cancel that is not committed yet) stays blocked, and so do the later ones of its key.
  if cardinality(locked) < cardinality(ids) then
    locked := array(
      select f.id from unnest(ids, keys, positions) f (id, key, position)
      where f.id = any(locked) and not exists (select from unnest(ids, keys, positions) o (id, key, position)
        where o.key = f.key and o.position < f.position and o.id <> all(locked)));
  end if;
  update only outbox.message m set state = 'ready', xid = pg_current_xact_id(), updated_at = outbox.clock() where m.id = any(locked);
  get diagnostics released = row_count;

  -- Looked at again, because a key may have become free after the first statement; then another row says so.
  -- During a change of lanes the messages of a key may be in another lane than its row, which follows them at the end.
  delete from outbox.freed_key f where f.ctid = any(array(select s.ctid from unnest(seen_keys, seen_ctids) s (key, ctid)
    where not exists (select from outbox.free_blocked(p_topic, p_lane, s.key, p_failed_blocks))))
    and not exists (select from outbox.topic_change c where c.topic = p_topic) and own_ctid is not null;
  get diagnostics deleted = row_count;
  -- One statement, so that the answer is that of the snapshot.
  select pg_current_snapshot(), exists (select from outbox.freed_since(p_topic, p_lane, known)) into now_known, freed;
  if deleted > 0 and not freed then
    update outbox.lane l set freed_snapshot = now_known where l.ctid = own_ctid returning l.ctid into row_ctid;
  end if;

  if coalesce(cardinality(ids), 0) < p_rows then
    next := case when cardinality(seen_keys) = p_keys then seen_keys[p_keys] else '' end;
  elsif ids[p_rows] = any(locked) then
    -- The last key may have more.
    next := befores[p_rows];
  else
    next := keys[p_rows];
  end if;
  return next;
end
$$;

-- True if a claim would return a message of the lane, a blocked one may be free, or a failure is to be told. A function for its
-- settings: with statistics from before the messages were stored, the planner would scan the whole table.
create function outbox.has_work(p_lane outbox.lane) returns boolean language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
begin
  return p_lane.untold_from is not null
    -- It sends late messages by batches, and has not ended that.
    or p_lane.late_cursor is not null
    or (select m.id from outbox.log m where m.topic = p_lane.topic and m.lane = p_lane.n and m.state = 'ready'
      and m.position > 0 and m.position > p_lane.cursor order by m.position limit 1) is not null
    -- An order and a limit instead of exists: the planner estimates a third of the table and would scan it.
    or (select m.id from outbox.log m where m.topic = p_lane.topic and m.lane = p_lane.n and m.state = 'ready'
      and m.position + 0 <= p_lane.cursor and m.xid >= pg_snapshot_xmax(p_lane.snapshot) order by m.xid limit 1) is not null
    or exists (select from pg_snapshot_xip(p_lane.snapshot) running (xid) cross join lateral (
      select from outbox.log m where m.topic = p_lane.topic and m.lane = p_lane.n and m.state = 'ready'
        and m.xid = running.xid and m.position + 0 <= p_lane.cursor offset 0) m)
    or outbox.has_exceptions(p_lane.topic, p_lane.n, p_lane.cursor, p_lane.snapshot)
    or exists (select from outbox.freed_since(p_lane.topic, p_lane.n, p_lane.freed_snapshot))
      and (select h.id from only outbox.message h where h.topic = p_lane.topic and h.lane = p_lane.n and h.state = 'blocked'
        order by h.key, h.position limit 1) is not null;
end
$$;

-- Waiting and retrying messages within their topic's horizon whose workflow was not given their due time: the first `p_limit`
-- by due time, without `p_without`, and none that is due before `p_from`. `replace`: the workflow sleeps until a later time.
--
-- Why a walk from topic to topic: the messages beyond one horizon may be millions, and lie within that of another topic. Why
-- the array of one topic: with it only the index by topic has the order, and that of all due times would need a sort.
create function outbox.untold_messages(p_limit integer, p_without uuid[], p_from timestamptz)
returns table (
  id uuid, workflow_id text, topic text, key text, ref text, due_at timestamptz, due_in_ms float8, replace boolean, visible boolean
) language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
#variable_conflict use_column
begin
  return query
  with recursive waits(topic) as (
    (select topic from only outbox.message
     where state in ('waiting', 'retrying') and workflow_due_at is distinct from due_at and due_at >= coalesce(p_from, '-infinity')
     order by topic limit 1)
    union all
    select (select m.topic from only outbox.message m
      where m.topic > w.topic and state in ('waiting', 'retrying') and workflow_due_at is distinct from due_at
        and due_at >= coalesce(p_from, '-infinity')
      order by m.topic limit 1)
    from waits w where w.topic is not null
  )
  select m.id, m.workflow_id, m.topic, m.key, m.ref, m.due_at,
    greatest(0, ceil(extract(epoch from m.due_at - outbox.clock()) * 1000))::float8,
    coalesce(m.due_at < m.workflow_due_at, false), coalesce(t.visible, true)
  from waits w left join outbox.topic t on t.name = w.topic
  cross join lateral (
    select * from only outbox.message u
    where u.topic = any(array[w.topic]) and state in ('waiting', 'retrying') and workflow_due_at is distinct from u.due_at
      and u.due_at >= coalesce(p_from, '-infinity')
      and u.due_at < outbox.clock() + coalesce(t.horizon, interval '24 hours') and u.id <> all(p_without)
    order by u.topic, u.due_at limit p_limit
  ) m
  order by m.due_at limit p_limit;
end
$$;

-- Lanes of `p_topics` that have work, or one of the first `p_soon_limit` messages that are due within `p_soon`, and no owner;
-- not those for which that was answered within the last second, and none of a paused topic. They are marked as wanted.
-- A hold that an owner has left is work: the next owner ends it, if nothing of the lane waits any more.
-- `p_orphans`: only lanes whose owner has died. `replace`: the lane's workflow is that of an owner that has died, or starts
-- have had no effect for `p_stuck`.
--
-- `p_quiet_topics` and `p_quiet_lanes`, in pairs: lanes that had no work when the caller asked, and of which looks have told it no news
-- since; null: it wants to know of none. They are asked again only if their rows, freed keys or due times tell of work: of a thousand quiet
-- lanes the whole question costs a tenth of a core. Rows with `quiet` name the lanes of this search that have no work.
--
-- Why a function: planning took longer than a search that finds nothing, which relays make several times a second. Why the
-- settings: with statistics from before the messages were stored, the planner would scan all of them.
create function outbox.want_lanes(
  p_topics text[], p_orphans boolean, p_stuck interval, p_soon interval, p_soon_limit integer, p_quiet_topics text[], p_quiet_lanes integer[]
) returns table (topic text, lane integer, replace boolean, quiet boolean) language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
as $$
#variable_conflict use_column
begin
  return query
  with soon as materialized (
    select s.topic, s.lane from (
      select m.topic, m.lane from only outbox.message m
      where m.state in ('waiting', 'retrying') and m.due_at > outbox.clock() and m.due_at < outbox.clock() + p_soon
      order by m.due_at, m.position limit p_soon_limit) s
    group by s.topic, s.lane
  ), known as materialized (
    select k.topic, k.n from unnest(p_quiet_topics, p_quiet_lanes) k (topic, n)
  ), asked as materialized (
    select l.ctid, (l.topic, l.n) in (select s.topic, s.lane from soon s) or l.hold is not null or outbox.has_work(l) as work, l.topic, l.n
    from outbox.lane l
    where l.topic = any(p_topics) and (not p_orphans or l.owner is not null) and not outbox.lane_taken(l)
      -- A time far in the future was written before the clock was set back.
      and (l.started_at between clock_timestamp() - interval '1 second' and clock_timestamp() + interval '20 seconds') is not true
      and ((l.topic, l.n) not in (select k.topic, k.n from known k)
        or l.owner is not null or l.wanted_since is not null or l.hold is not null or l.untold_from is not null
        or (l.topic, l.n) in (select s.topic, s.lane from soon s)
        or exists (select from outbox.freed_since(l.topic, l.n, l.freed_snapshot)))
  ), wanted as materialized (
    select l.topic, l.n,
      case when l.wanted_since is null then l.owner is not null else l.wanted_since < clock_timestamp() - p_stuck end as replace
    -- By place, because of the dead versions that an old snapshot keeps.
    from asked a join outbox.lane l on l.ctid = a.ctid
    -- Asked once more, because somebody may have taken or started it meanwhile.
    where a.work and not outbox.lane_taken(l)
      and (l.started_at between clock_timestamp() - interval '1 second' and clock_timestamp() + interval '20 seconds') is not true
      -- Only a lane with work is worth the question whether its topic is paused.
      and not outbox.is_paused(l.topic)
    for update of l skip locked
  ), started as (
    update outbox.lane l
    set started_at = clock_timestamp(),
      wanted_since = case when w.replace then clock_timestamp() else coalesce(l.wanted_since, clock_timestamp()) end
    from wanted w where l.topic = w.topic and l.n = w.n
    returning l.topic, l.n, w.replace
  )
  select s.topic, s.n, s.replace, false from started s
  union all
  select a.topic, a.n, false, true from asked a where p_quiet_lanes is not null and not a.work;
end
$$;

-- =====================================================================================================================
-- Repeating messages
-- =====================================================================================================================

-- A message that is written again and again: at the times of `cron` in its zone, or at multiples of `every_ms` since 1970. Senders and
-- operators write these rows; relays bring Temporal's schedules into line with them. A time comes from Temporal, and this row
-- decides whether it writes a message: if it is one of its rule, from when that holds on.
create table outbox.schedule (
  name             text collate "C" primary key,
  topic            text collate "C" not null,
  key              text collate "C",
  ref              text collate "C",
  payload          text not null,
  headers          jsonb,
  cron             text,
  every_ms         bigint check (every_ms >= 1000),
  time_zone        text not null default 'UTC',
  overlap          text not null default 'allow' check (overlap in ('allow', 'skip')),
  -- What is later than this writes no message any more.
  catch_up_ms      bigint not null check (catch_up_ms >= 10000),
  -- Milliseconds from a time to the expiry of its message; null: it does not expire.
  expires_after_ms bigint check (expires_after_ms >= 0),
  paused           boolean not null default false,
  -- Kept until Temporal's schedule is deleted.
  removed          boolean not null default false,
  -- Raised by every change that Temporal has to follow, and the version that it has followed; null: none, or it is unknown.
  version          bigint not null default 1,
  followed_version bigint,
  -- When Temporal was last seen to have what it is to have; null: never. It makes up for what it misses from then on itself.
  followed_at      timestamptz,
  -- Since when the rule holds: its creation or change, or the end of a pause. Earlier times write nothing.
  holds_since      timestamptz not null default outbox.clock(),
  -- Times of `cron` that Temporal has told, in order.
  next_at          timestamptz[] not null default '{}',
  -- The time of the last message, its id, and why the last time wrote none, if it was refused.
  last_at          timestamptz,
  last_message_id  uuid,
  last_error       text,
  created_at       timestamptz not null default now(),
  updated_at       timestamptz not null default now(),
  constraint schedule_rule check (num_nonnulls(cron, every_ms) = 1)
);

-- For relays: what Temporal has not followed yet.
create index schedule_unfollowed on outbox.schedule (name) where followed_version is distinct from version;

-- =====================================================================================================================
-- Operations
-- =====================================================================================================================

-- What operators did to a message, a topic, or a kept message, including refusals.
create table outbox.audit (
  id             bigint generated always as identity primary key,
  at             timestamptz not null default now(),
  actor          text not null,
  action         text not null,
  topic          text collate "C",
  message_id     uuid,
  -- Together with inbox_id: a kept message.
  consumer_group text collate "C",
  inbox_id       text collate "C",
  -- The bulk operation that did it.
  bulk_id        uuid,
  result         text not null,
  reason         text,
  -- Only hashes, attempt counts, times and ids; never a payload.
  details        jsonb
);
create index audit_message on outbox.audit (message_id, id) where message_id is not null;
create index audit_topic on outbox.audit (topic, id) where message_id is null;
create index audit_inbox on outbox.audit (consumer_group, inbox_id, id) where inbox_id is not null;
-- One entry per message and operation: if a crash or a second runner repeats an action, the index refuses its entry, and the
-- action is rolled back.
create unique index audit_bulk on outbox.audit (bulk_id, message_id) where bulk_id is not null;
create unique index audit_bulk_kept on outbox.audit (bulk_id, inbox_id) where bulk_id is not null and inbox_id is not null;

-- A chain over the audit: who changes, deletes or slips in an entry afterwards has to make all later seals anew.
create table outbox.audit_seal (
  -- From 1, without a gap, in the order of commits.
  position bigint primary key,
  audit_id bigint not null unique,
  -- SHA-256, in hex, of the seal before and the entry.
  hash     text not null
);

-- What is sealed of an entry: the same text in every session.
create function outbox.sealed_text(a outbox.audit) returns text language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_array(a.id, extract(epoch from a.at), a.actor, a.action, a.topic, a.message_id, a.consumer_group, a.inbox_id,
    a.bulk_id, a.result, a.reason, a.details)::text
$$;

-- Seals an entry when its transaction commits, so that others wait for its commit and not for its work.
--
-- Why `security definer`: whoever may write entries must not write seals.
create function outbox.seal_audit() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  last outbox.audit_seal;
begin
  perform pg_advisory_xact_lock(hashtextextended('outbox.audit_seal', 0));
  select * into last from outbox.audit_seal s order by s.position desc limit 1;
  insert into outbox.audit_seal (position, audit_id, hash) values
    (coalesce(last.position, 0) + 1, new.id, outbox.sha256(coalesce(last.hash, '') || outbox.sealed_text(new)));
  return null;
end
$$;

create constraint trigger audit_sealed after insert on outbox.audit deferrable initially deferred for each row
execute function outbox.seal_audit();

revoke execute on function outbox.seal_audit() from public;

-- A request to the HTTP API whose caller may repeat it, with the first answer; kept for a day.
create table outbox.request (
  actor      text collate "C" not null,
  -- As the caller chose it.
  key        text collate "C" not null,
  -- Of everything that it asks for: another request with the key is refused.
  digest     text not null,
  -- Null: it is being answered, or its process has ended before.
  status     integer,
  -- Never a payload.
  answer     text,
  created_at timestamptz not null default now(),
  -- Until then nobody else answers it: its process moves this on.
  taken_until timestamptz,
  primary key (actor, key)
);
create index request_created on outbox.request (created_at);

-- A person who has signed in to the HTTP API, from the sign-in to the sign-out or the end of its times.
create table outbox.api_session (
  -- SHA-256, in hex, of the id in the cookie: who reads it cannot act with it.
  id_hash  text collate "C" primary key,
  -- Issuer and client id of the provider that proved the person.
  provider text collate "C" not null,
  -- For the audit.
  name     text not null,
  -- What the provider told; which rights it gives is in the configuration.
  grants   text[] not null,
  begun_at timestamptz not null default now(),
  used_at  timestamptz not null default now()
);
create index api_session_used on outbox.api_session (used_at);

-- A try to sign in to the HTTP API by a password, for a minute, unless it was right. One row for each thing that it counts for.
create table outbox.sign_in_try (
  id   bigint generated always as identity primary key,
  -- SHA-256, in hex, of the name, the address, or both: somebody may have typed a password as the name.
  what text collate "C" not null,
  at   timestamptz not null
);
create index sign_in_try_what on outbox.sign_in_try (what, at);
create index sign_in_try_at on outbox.sign_in_try (at);

-- A change of all messages that match a filter, made page by page by a workflow.
create table outbox.bulk_operation (
  id              uuid primary key,
  -- Null: for messages of the outbox, run by relays. Else for messages that this group keeps, run by its consumers.
  consumer_group  text collate "C",
  -- withdraw: an earlier version began it.
  action          text not null check (action in ('cancel', 'discard', 'replay', 'reschedule', 'retry', 'withdraw')),
  -- As in the API, with explicit states, and times in UTC. Never empty.
  filter          jsonb not null check (jsonb_typeof(filter) = 'object' and filter <> '{}'),
  -- For reschedule: {"afterMs": n}, {"at": "<time>"} or {"shiftMs": n}; for replay: {"to": "<topic>"}; else {}.
  arguments       jsonb not null,
  actor           text not null,
  reason          text not null,
  rate_per_second integer not null check (rate_per_second between 1 and 10000),
  state           text not null check (state in ('running', 'paused', 'aborted', 'done', 'failed')),
  -- Messages that were sent or have arrived later than this are not in the selection.
  selected_until  timestamptz not null,
  -- Counted at the start; if not exact: at least this many.
  total           integer not null,
  total_exact     boolean not null,
  -- How far the walk by position and id has come, and whether it is complete.
  walked_position bigint not null,
  walked_id       text collate "C" not null,
  walked          boolean not null,
  -- Chosen, but not processed yet: others have locked them.
  pending         text[] not null,
  -- Since when only these are tried.
  pending_since   timestamptz,
  -- Number of messages by result.
  counts          jsonb not null,
  -- Enforces the rate across all runners.
  next_page_at    timestamptz not null,
  -- Pages in a row that ended with an error, and the last of these errors.
  failures        integer not null,
  last_error      text,
  -- When its workflow was last started. Null: never. '-infinity': it sleeps too long and must be replaced.
  told_at         timestamptz,
  created_at      timestamptz not null default now(),
  updated_at      timestamptz not null default now(),
  finished_at     timestamptz,
  check (consumer_group is null or action in ('discard', 'retry'))
);

create index bulk_operation_created on outbox.bulk_operation (created_at, id);
create index bulk_operation_running on outbox.bulk_operation (created_at) where state = 'running';

-- One row per comparison of rows with workflows; the last hundred are kept.
create table outbox.reconciliation (
  id                bigint generated always as identity primary key,
  at                timestamptz not null,
  took_ms           integer not null,
  -- Whether everything was compared, or only what is due next.
  thorough          boolean not null,
  -- Where the next run continues a thorough comparison that was too long for one run; null: it is complete.
  resume            jsonb,
  rows              integer not null,
  workflows         integer not null,
  checked_rows      integer not null,
  checked_workflows integer not null,
  restarted         integer not null,
  ended             integer not null
);

-- =====================================================================================================================
-- Inbox: processed ids
-- =====================================================================================================================

-- Makes the server end what the client may not be able to end: this transaction after it was idle for p_idle_ms, because a
-- frozen process would hold its locks; each wait for a lock, and each later statement, after p_limit_ms. A client queues its
-- ROLLBACK behind the waiting statement, so without a limit the connection would stay occupied. Null: the session's setting.
create function outbox.limit_transaction(p_idle_ms integer, p_limit_ms integer) returns text language sql volatile
as $$
  select set_config('idle_in_transaction_session_timeout'::text, p_idle_ms::text, true)
    || set_config('lock_timeout'::text, p_limit_ms::text, true) || set_config('statement_timeout'::text, p_limit_ms::text, true)
$$;

-- The same for transactions in which no handler runs.
create function outbox.limit_idle() returns text language sql volatile
as $$ select outbox.limit_transaction(30000, 30000) || set_config('lock_timeout'::text, '5000'::text, true) $$;

-- Periods of time whose processed ids are stored together, so that expired ids are dropped at once and not deleted row by
-- row. Exactly one has not ended.
create table outbox.processed_epoch (
  epoch      bigint primary key check (epoch > 0),
  begun_at   timestamptz not null,
  -- Null: the current one, the only one that ids are written to.
  ended_at   timestamptz,
  -- Tries to end it, and then to drop it. While such a try waits for open transactions, handlers wait, too. So there is one a
  -- minute in the whole database, however many keepers there are, each with a longer timeout.
  tries      integer not null default 0,
  tried_at   timestamptz,
  -- Before it is dropped, ids of live messages, and of messages that a consumer keeps, are carried over. These columns say how
  -- far that has come, and whether it is complete.
  live_to    uuid,
  live_done  boolean not null default false,
  kept_group text collate "C",
  kept_id    text collate "C",
  kept_done  boolean not null default false
);
create unique index processed_epoch_current on outbox.processed_epoch ((true)) where ended_at is null;
create trigger emptied before truncate on outbox.processed_epoch execute function outbox.refuse_emptying();
create trigger current_gone before delete on outbox.processed_epoch for each row when (old.ended_at is null)
execute function outbox.refuse_emptying();
alter table outbox.processed_epoch enable always trigger emptied, enable always trigger current_gone;
insert into outbox.processed_epoch (epoch, begun_at) values (1, outbox.clock());

-- The consumer groups and their windows of processed ids; the row with an empty name has the minimum window, set by the relay
-- of this database.
create table outbox.consumer_group (
  consumer_group text collate "C" primary key,
  -- Null: for ever.
  window_ms      bigint check (window_ms > 0),
  seen_at        timestamptz not null
);

-- The epoch of ids that are written without one, by hand.
create function outbox.current_epoch() returns bigint language sql stable
as $$ select e.epoch from outbox.processed_epoch e where e.ended_at is null $$;

-- The current epoch is not there for this role.
create function outbox.refuse_without_epoch() returns void language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if row_security_active('outbox.processed_epoch') then
    raise exception 'row-level security hides the rows of outbox.processed_epoch' using errcode = '42501';
  end if;
  raise exception 'outbox: outbox.processed_epoch is empty' using errcode = 'OB004',
    hint = 'Exclude the schema outbox from what empties tables, such as the cleaner of a test suite.';
end
$$;

-- A message whose id is here is never handled again when it is redelivered. Ids are unique per group across all epochs; within
-- an epoch the index ensures that, across epochs outbox.mark_processed and outbox.roll_processed together.
create table outbox.processed (
  epoch          bigint not null default outbox.current_epoch(),
  consumer_group text collate "C" not null,
  message_id     text collate "C" not null,
  topic          text collate "C",
  processed_at   timestamptz not null default now(),
  -- True: it had expired, and no handler was called. Else null, which takes no room.
  expired        boolean check (expired),
  -- Of a message that was kept (outbox.parked) and is no longer: when a try ended it, by its effect or its expiry; infinity:
  -- it was removed without an effect, as failed, discarded, or superseded. Else null.
  ended_at       timestamptz,
  primary key (consumer_group, message_id, epoch)
) partition by list (epoch);
create table outbox.processed_1 partition of outbox.processed for values in (1);

-- Stores ids, in the transaction of their effects; returns those that are new. A concurrent transaction with one of them
-- waits for this one. An id that is given twice is new once. A single topic applies to all of them.
--
-- Why the lock: it is the one that the insert takes anyway, but taken before the epoch is read. The end of an epoch waits for
-- all holders of this lock, so the epoch that is read here stays current until the end of this transaction.
-- Why in order: two batches with the same ids wait for each other, but never deadlock.
-- Why a subquery for older epochs: it can only use the index, once per id; epochs that are not older are pruned when the
-- statement begins.
create function outbox.mark_processed(p_group text, p_ids text[], p_topics text[]) returns setof text
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_epoch bigint;
begin
  lock table only outbox.processed in row exclusive mode;
  select e.epoch into v_epoch from outbox.processed_epoch e where e.ended_at is null;
  if v_epoch is null then perform outbox.refuse_without_epoch(); end if;
  -- Ids are searched in older epochs only if there are any: that is an eighth of the work.
  if exists (select from outbox.processed_epoch e where e.epoch < v_epoch) then
    return query
      insert into outbox.processed as w (epoch, consumer_group, message_id, topic)
      select v_epoch, p_group, n.id, case when cardinality(p_topics) = 1 then p_topics[1] else n.topic end
      from unnest(p_ids, p_topics) n (id, topic)
      where (select true from outbox.processed o
        where o.consumer_group = p_group and o.message_id = n.id and o.epoch < v_epoch limit 1) is null
      order by n.id collate "C"
      on conflict do nothing
      returning w.message_id;
  else
    return query
      insert into outbox.processed as w (epoch, consumer_group, message_id, topic)
      select v_epoch, p_group, n.id, case when cardinality(p_topics) = 1 then p_topics[1] else n.topic end
      from unnest(p_ids, p_topics) n (id, topic)
      order by n.id collate "C"
      on conflict do nothing
      returning w.message_id;
  end if;
end
$$;

-- Notes that these messages had expired, in the transaction that ends them.
create function outbox.note_expired(p_group text, p_ids text[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
begin
  update outbox.processed o set expired = true where o.consumer_group = p_group and o.message_id = any(p_ids);
end
$$;

-- Stores processed ids in the current epoch as well: their window begins with the effects of this transaction. The epoch of their arrival
-- may be dropped as soon as no kept message has them. The lock is as in outbox.mark_processed.
create function outbox.renew_processed(p_group text, p_ids text[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_epoch bigint;
begin
  lock table only outbox.processed in row exclusive mode;
  select e.epoch into v_epoch from outbox.processed_epoch e where e.ended_at is null;
  if v_epoch is null then perform outbox.refuse_without_epoch(); end if;
  insert into outbox.processed as w (epoch, consumer_group, message_id, topic, processed_at, expired)
  select v_epoch, o.consumer_group, o.message_id, o.topic, o.processed_at, o.expired from outbox.processed o
  where o.consumer_group = p_group and o.message_id = any(p_ids) and o.epoch < v_epoch
  order by o.message_id
  on conflict do nothing;
end
$$;

-- Notes that these messages, which were kept, are no longer, in the transaction that ends them. An id that is carried over to
-- another epoch at this moment may miss it there.
create function outbox.note_ended(p_group text, p_ids text[], p_at timestamptz) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
begin
  perform outbox.renew_processed(p_group, p_ids);
  update outbox.processed o set ended_at = p_at where o.consumer_group = p_group and o.message_id = any(p_ids);
end
$$;

-- Those of the ids that are already stored.
create function outbox.read_processed(p_group text, p_ids text[]) returns setof text
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
begin
  return query
    select n.id from unnest(p_ids) n (id)
    where (select true from outbox.processed o where o.consumer_group = p_group and o.message_id = n.id limit 1);
end
$$;

-- =====================================================================================================================
-- Inbox: messages that a consumer keeps
-- Parked behind a failure of their key, or failed.
-- =====================================================================================================================

-- A key whose messages queue, or one message without a key. Its workflow tries the first of the queue, and then drains it.
create table outbox.parked_key (
  id             uuid primary key default outbox.uuid_v7(),
  consumer_group text collate "C" not null,
  topic          text collate "C" not null,
  key            text collate "C",
  workflow_id    text not null,
  -- When the first message of the queue is tried; infinity: after a person has decided about a failed one.
  next_at        timestamptz not null,
  -- When its workflow was last started.
  told_at        timestamptz,
  -- For a key that an operator brought back: transactions older than this one may not see it yet.
  unseen_before  xid8,
  -- Number of the last try. It never decreases, unlike the attempts of a message.
  tries          integer not null default 0,
  -- The advisory lock of the process that has a try in hand: every connection on which it begins one holds it as shared.
  worker         bigint,
  -- Beginning of that try, and its messages, by position.
  begun_at       timestamptz,
  begun_from     bigint not null default 0,
  begun_to       bigint not null default 0,
  -- The queue is known to begin after this position: before it are only index entries of deleted messages.
  ended          bigint not null default -1,
  parked_at      timestamptz not null default outbox.clock(),
  unique (consumer_group, topic, key)
);
create index parked_key_next on outbox.parked_key (consumer_group, next_at, id);
create index parked_key_untold on outbox.parked_key (consumer_group, next_at) where told_at is null;
create index parked_key_worked on outbox.parked_key (consumer_group, worker) where worker is not null;

create table outbox.parked (
  consumer_group text collate "C" not null,
  message_id     text collate "C" not null,
  position       bigint generated always as identity (cache 1),
  state          text not null default 'parked' check (state in ('parked', 'failed', 'superseded', 'discarded')),
  -- Set if the message is in the queue of that key: parked, or failed and holding it.
  key_id         uuid,
  topic          text collate "C" not null,
  key            text collate "C",
  address        text not null,
  partition      integer not null,
  "offset"       text not null,
  -- Key and headers as they arrived, as JSON text: jsonb does not accept NUL.
  wire           text not null,
  body           bytea,
  sent_at        timestamptz not null,
  -- Tries that were begun; the quick retries count as part of the first one.
  attempts       integer not null default 0,
  -- How often its process died with it in hand, since its last try that ended otherwise. Such a message is suspect: it is
  -- tried alone, and while no other suspect is in the same process.
  kills          integer not null default 0,
  reason         text,
  last_error     text,
  supersedes     text collate "C",
  superseded_by  text collate "C",
  -- When its copy reached the dead-letter address.
  copied_at      timestamptz,
  -- When an operator removed its body, headers and error; null: nobody has.
  expunged_at    timestamptz,
  arrived_at     timestamptz not null default outbox.clock(),
  updated_at     timestamptz not null default outbox.clock(),
  primary key (consumer_group, message_id),
  check (state <> 'parked' or key_id is not null)
);
create index parked_queue on outbox.parked (key_id, position) where key_id is not null;
create index parked_failed on outbox.parked (consumer_group, position) where state = 'failed';
create index parked_uncopied on outbox.parked (consumer_group, position) where state = 'failed' and copied_at is null;
create index parked_listed on outbox.parked (consumer_group, position, message_id);
create index parked_ended on outbox.parked (updated_at, consumer_group, message_id) where state in ('superseded', 'discarded');
create index parked_failed_ended on outbox.parked (consumer_group, updated_at) where state = 'failed' and key_id is null;

-- The legal changes of state, as in src/core/parked-states.ts.
create trigger parked_transition before update of state on outbox.parked
  for each row when (old.state <> new.state and (old.state, new.state) not in (
    ('parked', 'failed'), ('failed', 'parked'), ('failed', 'superseded'), ('failed', 'discarded'),
    ('parked', 'superseded'), ('parked', 'discarded')))
  execute function outbox.refuse_transition();

-- What a consumer has in hand, one row per partition and consumer: if it is left unfinished, one of these messages may have
-- killed it, and whoever gets them next tries them one at a time.
create table outbox.mark (
  consumer_group text collate "C" not null,
  address        text collate "C" not null,
  partition      integer not null,
  owner          uuid not null,
  -- The ids of the messages, as hashtext() has them; for a single one, how often it was left unfinished.
  ids            integer[] not null,
  kills          integer not null default 0,
  begun_at       timestamptz not null default clock_timestamp(),
  primary key (consumer_group, address, partition, owner)
);

-- One row per address that the breaker of a running consumer pauses. That consumer writes it every two seconds and deletes
-- it at the end of the pause; a row that was not written for six seconds no longer counts, because its consumer has died.
create table outbox.breaker (
  consumer_group text not null,
  address        text not null,
  -- One run of a consumer.
  consumer       uuid not null,
  host           text not null,
  pid            integer not null,
  paused_at      timestamptz not null,
  -- Of `keys` that were considered, how many had failed when the pause began.
  failed_keys    integer not null,
  keys           integer not null,
  -- Probes that have failed since then.
  probes         integer not null,
  next_probe_at  timestamptz not null,
  -- Error of the last message that failed, without values of its payload.
  error          text not null,
  seen_at        timestamptz not null default clock_timestamp(),
  primary key (consumer_group, address, consumer)
);

-- One row per running consumer, which writes it every few seconds and deletes it when it stops; one that has not done so for 15 s
-- has died. Rows of dead ones are deleted by others after an hour.
create table outbox.consumer (
  -- One run of a consumer.
  id             uuid primary key,
  consumer_group text not null,
  host           text not null,
  pid            integer not null,
  -- Of the package in its process.
  version        text not null,
  started_at     timestamptz not null default clock_timestamp(),
  seen_at        timestamptz not null default clock_timestamp(),
  -- [{"address": …, "partitions": [0, 1]}, …]: what it owns.
  partitions     jsonb not null
);

-- The consumer whose turn it is to copy the failed messages of a group: one at a time, or each would send every copy.
create table outbox.letter_turn (
  consumer_group text collate "C" primary key,
  owner          uuid not null,
  ends_at        timestamptz not null
);

create function outbox.parked_workflow_id(p_group text, p_id uuid) returns text language sql stable
as $$ select (select i.id from outbox.installation i)::text || '/parked/' || p_group || '/' || p_id::text $$;

-- =====================================================================================================================
-- Inbox: receiving
-- =====================================================================================================================

-- Classifies messages of a group, in order, in the transaction of their effects:
-- 'new': their ids are stored now; 'behind': as new, but their key is parked and they must queue behind its messages;
-- 'processed': already handled; 'kept': already kept. An empty answer: all of them are new.
--
-- The keys may be omitted while the group has no parked key; the answer null says that they are needed, and then nothing was
-- stored. A single topic may be given for all of them. Both save most of the cost of sending a batch here.
--
-- The key is checked before the id is stored, and stays parked until this transaction ends: a drain deletes the row of the key
-- only after it has waited for us, and checks the queue once more after that. And the transaction gets its id before the
-- check: a transaction that did not see a key that an operator brought back has an id from before that key existed, so
-- outbox.begin_try can tell when all of these have ended.
--
-- Why a key is looked up as a range, in order: with statistics from before keys were parked, an equality is looked up by another index,
-- which has all keys of the group, and those that were drained since an old snapshot began.
create function outbox.receive(
  p_group text, p_ids text[], p_topics text[], p_keys text[], p_idle_ms integer, p_limit_ms integer
) returns text[] language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_sort = off
set jit = off
as $$
declare
  behind boolean[];
  noted text[];
begin
  perform pg_current_xact_id();
  perform outbox.limit_transaction(p_idle_ms, p_limit_ms);
  -- With the keys, whether there is any at all is not worth the question: see outbox.receive_one.
  if p_keys is not null or exists (select from outbox.parked_key k where k.consumer_group = p_group limit 1) then
    if p_keys is null then return null; end if;
    with locked as materialized (
      select k.topic, k.key from outbox.parked_key k
      where k.consumer_group = p_group
        and k.id = any(array(
          select f.id from (select distinct coalesce(u.topic, p_topics[1]) as topic, u.key
              from unnest(p_topics, p_keys) u (topic, key)) d,
            lateral (select x.id from outbox.parked_key x
              where x.consumer_group = p_group and x.topic = d.topic and x.key >= d.key and x.key <= d.key
              order by x.key limit 1) f))
      order by k.id for key share
    )
    select array_agg(exists (select from locked l where l.topic = coalesce(u.topic, p_topics[1]) and l.key = u.key) order by u.n)
    into behind from unnest(p_topics, p_keys) with ordinality u (topic, key, n);
  end if;
  noted := array(select outbox.mark_processed(p_group, p_ids, p_topics));
  if cardinality(noted) = cardinality(p_ids) and (behind is null or not true = any(behind)) then return '{}'; end if;
  -- Another transaction has parked one of these after the keys were checked: messages behind it must not overtake it.
  if cardinality(p_ids) > 1 and exists (
    select from unnest(p_ids) with ordinality u (id, n)
    join outbox.parked p on p.consumer_group = p_group and p.message_id = u.id and p.key_id is not null and p.key is not null
    where not coalesce(behind[u.n], false)
  ) then
    raise exception 'outbox: a key of this batch has just been parked' using errcode = 'serialization_failure';
  end if;
  return array(
    select case
      when u.id = any(noted) and u.first then case when behind[u.n] then 'behind' else 'new' end
      when exists (select from outbox.parked p where p.consumer_group = p_group and p.message_id = u.id
        and p.state in ('parked', 'failed')) then 'kept'
      else 'processed' end
    from (select x.id, x.n, row_number() over (partition by x.id order by x.n) = 1 as first
      from unnest(p_ids) with ordinality x (id, n)) u
    order by u.n);
end $$;

-- Creates outbox.receive_one for ids of this epoch. It contains the name of the partition: finding it, and the routing through
-- the partitioned table, were half of its cost.
--
-- outbox.receive_one is like outbox.receive, for one message whose key is not parked: true if it is new, and stored.
-- Null: call outbox.receive, nothing was stored. It asks for this key alone: whether the group has any would read all that were parked
-- and drained since an old snapshot began, for each message. Most transactions of a consumer begin with it, so it does nothing else, in as
-- few statements as possible: the cost of each shows at thousands per second.
--
-- A transaction that begins while the epoch ends may be refused, as in outbox.refuse_ended_epoch; that costs another try.
-- So may one that calls outbox.mark_processed after this, by a deadlock, if the end of the epoch waits for long.
create function outbox.write_receive_one(p_epoch bigint) returns void language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $write$
begin
  execute format($function$
create or replace function outbox.receive_one(
  p_group text, p_id text, p_topic text, p_idle_ms integer, p_limit_ms integer, p_key text
) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_sort = off
as $body$
declare
  v_xid xid8 := pg_current_xact_id();
  -- As outbox.limit_transaction, whose call would cost more.
  v_limits text := set_config('idle_in_transaction_session_timeout'::text, p_idle_ms::text, true)
    || set_config('lock_timeout'::text, p_limit_ms::text, true) || set_config('statement_timeout'::text, p_limit_ms::text, true);
begin
  if p_key is not null and (select k.id from outbox.parked_key k
    where k.consumer_group = p_group and k.topic = p_topic and k.key >= p_key and k.key <= p_key order by k.key limit 1) is not null then return null; end if;
  %s
  insert into outbox.%I (epoch, consumer_group, message_id, topic) values (%s, p_group, p_id, p_topic)
  on conflict do nothing;
  return case when found then true end;
end $body$
$function$,
    -- No id gets into an epoch that has ended, and no epoch begins before the current one.
    case when exists (select from outbox.processed_epoch e where e.epoch < p_epoch) then format(
      'if exists (select from outbox.processed o
         where o.consumer_group = p_group and o.message_id = p_id and o.epoch < %s limit 1) then return null; end if;',
      p_epoch) end,
    'processed_' || p_epoch, p_epoch);
end
$write$;

select outbox.write_receive_one(outbox.current_epoch());

-- Adds messages to the queue of their parked key, in order. The key must be locked by outbox.receive, or is created here if
-- `p_retry_ms`, the delay of its first message, is given. A failed message that does not block its key is in no queue, even if
-- the key has just been parked.
create function outbox.park(p_group text, p_messages jsonb, p_retry_ms float8 default null) returns void language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  m jsonb;
  home uuid;
begin
  for m in select value from jsonb_array_elements(p_messages) loop
    home := null;
    if m ->> 'key' is not null then
      select k.id into home from outbox.parked_key k
      where k.consumer_group = p_group and k.topic = m ->> 'topic' and k.key >= m ->> 'key' and k.key <= m ->> 'key' order by k.key limit 1
      for key share;
    end if;
    if home is null and (m ->> 'state' = 'parked' or (m ->> 'blocksKey')::boolean) then
      home := outbox.uuid_v7();
      insert into outbox.parked_key (id, consumer_group, topic, key, workflow_id, next_at)
      values (home, p_group, m ->> 'topic', m ->> 'key', outbox.parked_workflow_id(p_group, home),
        case when m ->> 'state' = 'failed' then 'infinity' else outbox.clock() + p_retry_ms * interval '1 ms' end);
    end if;
    insert into outbox.parked (consumer_group, message_id, state, key_id, topic, key, address, partition, "offset", wire, body,
      sent_at, attempts, reason, last_error)
    values (p_group, m ->> 'id', m ->> 'state',
      case when m ->> 'state' = 'parked' or (m ->> 'blocksKey')::boolean then home end, m ->> 'topic', m ->> 'key', m ->> 'address', (m ->> 'partition')::integer,
      m ->> 'offset', m ->> 'wire', decode(m ->> 'body', 'base64'), (m ->> 'sentAt')::timestamptz,
      (m ->> 'attempts')::integer, m ->> 'reason', m ->> 'error');
  end loop;
end $$;

-- =====================================================================================================================
-- Inbox: change of epochs
-- =====================================================================================================================

-- Serialises keepers that begin, carry over and drop epochs; false: another one is working.
create function outbox.may_keep_processed() returns boolean language sql volatile
set search_path = pg_catalog, pg_temp
as $$ select pg_try_advisory_xact_lock(hashtextextended('outbox.processed_epoch', 0)) and outbox.limit_idle() is not null $$;

-- Refuses writes to an epoch that has ended, by a transaction with an old snapshot, which still takes it for the current one.
-- Raised as the serialization failure that it is.
create function outbox.refuse_ended_epoch() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception 'outbox: the epoch % of processed ids has ended since this transaction began', new.epoch
    using errcode = 'serialization_failure', hint = 'Run the transaction again.';
end
$$;

-- Counts a try to end or drop this epoch. Returns how long it may wait: twice as long as the previous one, at most 5 s; null:
-- the last try was less than p_pause_ms ago.
create function outbox.begin_epoch_change(p_old outbox.processed_epoch, p_patience_ms integer, p_pause_ms integer) returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_old.tried_at > clock_timestamp() - p_pause_ms * interval '1 ms' then return null; end if;
  update outbox.processed_epoch e set tries = e.tries + 1, tried_at = clock_timestamp() where e.epoch = p_old.epoch;
  return greatest(p_patience_ms, least(p_patience_ms * 2 ^ least(p_old.tries, 10), 5000));
end
$$;

-- Creates the table of an epoch, if there is none, with the rights that roles have to outbox.processed: outbox.receive_one writes into
-- the partition itself.
create function outbox.create_epoch(p_epoch bigint) returns void language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_given record;
  v_name text := 'processed_' || p_epoch;
begin
  if to_regclass(format('outbox.%I', v_name)) is not null then return; end if;
  execute format('create table outbox.%I (like outbox.processed including all)', v_name);
  execute format('alter table outbox.%I disable row level security', v_name);
  for v_given in
    select string_agg(g.privilege_type, ', ') as privileges,
      case g.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(g.grantee)) end as grantee
    from pg_class c cross join aclexplode(c.relacl) g
    where c.oid = 'outbox.processed'::regclass and g.grantee <> c.relowner
    group by g.grantee
  loop
    execute format('grant %s on outbox.%I to %s', v_given.privileges, v_name, v_given.grantee);
  end loop;
  execute format('alter table outbox.processed attach partition outbox.%I for values in (%s)', v_name, p_epoch);
end
$$;

-- Has nobody store ids in the table of an epoch that has ended, and outbox.receive_one in that of the current one.
create function outbox.follow_epochs() returns void language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ended text;
begin
  perform outbox.create_epoch(e.epoch) from outbox.processed_epoch e;
  for v_ended in
    select c.relname from outbox.processed_epoch e join pg_class c on c.oid = to_regclass('outbox.processed_' || e.epoch)
    where e.ended_at is not null and not exists (select from pg_trigger t where t.tgrelid = c.oid and t.tgname = 'ended')
  loop
    execute format('create trigger ended before insert on outbox.%I for each row execute function outbox.refuse_ended_epoch()', v_ended);
  end loop;
  perform outbox.write_receive_one(e.epoch) from outbox.processed_epoch e where e.ended_at is null;
end
$$;

-- Begins a new epoch if the current one has lasted for p_epoch_ms. Returns 'rolled', 'young', or 'busy'.
--
-- At the change no transaction that wrote into the old epoch may still be open: a transaction that writes into the new epoch
-- could not see its ids, and would not wait for it. So the change waits for all writers, p_patience_ms or longer (see
-- outbox.begin_epoch_change); handlers that begin meanwhile wait, too.
-- Locks: outbox.processed against writers, and the ended partition, because writers through outbox.receive_one lock only that.
--
-- Why `security definer`, here and in outbox.drop_processed: only the owner of a table may attach a partition, or drop one.
-- The role of a consumer only needs to execute these two.
create function outbox.roll_processed(p_epoch_ms bigint, p_patience_ms integer, p_pause_ms integer) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ended outbox.processed_epoch;
  v_now timestamptz;
  v_before text := current_setting('lock_timeout');
  v_patience integer;
begin
  if not outbox.may_keep_processed() then return 'busy'; end if;
  select * into strict v_ended from outbox.processed_epoch e where e.ended_at is null;
  if v_ended.begun_at > outbox.clock() - p_epoch_ms * interval '1 ms' then return 'young'; end if;
  if not exists (select from outbox.processed p where p.epoch = v_ended.epoch) then
    -- The epoch is empty: an outbox without consumers creates no partitions.
    update outbox.processed_epoch e set begun_at = outbox.clock() where e.epoch = v_ended.epoch;
    return 'young';
  end if;
  v_patience := outbox.begin_epoch_change(v_ended, p_patience_ms, p_pause_ms);
  if v_patience is null then return 'busy'; end if;
  begin
    perform set_config('lock_timeout', v_patience || 'ms', true);
    perform outbox.create_epoch(v_ended.epoch + 1);
    lock table only outbox.processed in share row exclusive mode;
    -- This waits for transactions that have locked only the partition.
    execute format('create trigger ended before insert on outbox.%I for each row execute function outbox.refuse_ended_epoch()',
      'processed_' || v_ended.epoch);
    -- The current time, not that of the transaction's beginning: handlers that it has waited for have stored ids since then.
    v_now := outbox.clock() + (clock_timestamp() - now());
    update outbox.processed_epoch e set ended_at = v_now, tries = 0, tried_at = null where e.epoch = v_ended.epoch;
    insert into outbox.processed_epoch (epoch, begun_at) values (v_ended.epoch + 1, v_now);
    perform outbox.write_receive_one(v_ended.epoch + 1);
    perform set_config('lock_timeout', v_before, true);
    return 'rolled';
  exception when lock_not_available or deadlock_detected then
    return 'busy';
  end;
end
$$;

-- The current epoch, locked for writing; null: another keeper is carrying over.
create function outbox.epoch_to_carry_to() returns bigint language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if not outbox.may_keep_processed() then return null; end if;
  lock table only outbox.processed in row exclusive mode;
  return (select e.epoch from outbox.processed_epoch e where e.ended_at is null);
end
$$;

-- Carries ids of an ended epoch over to the current one if their messages may still arrive again, because they are live in
-- this database: a page of live messages, at most p_limit. `complete`: all are carried over, or the epoch is gone; `busy`:
-- another keeper is working.
--
-- Why by messages: live ones are few in comparison, and those that were stored after the epoch cannot be in it (with a day's
-- margin for clocks). Messages leave the live table and never come back, so one walk is enough.
create function outbox.carry_live(p_epoch bigint, p_limit integer)
returns table (carried integer, complete boolean, busy boolean) language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  v_epoch bigint := outbox.epoch_to_carry_to();
  v_old outbox.processed_epoch;
  v_read integer;
  v_last uuid;
begin
  select * into v_old from outbox.processed_epoch e where e.epoch = p_epoch and e.ended_at is not null;
  if v_epoch is null or not found or v_old.live_done then
    return query select 0, v_epoch is not null, v_epoch is null;
    return;
  end if;
  with recursive page as materialized (
    -- See src/core/chosen-id.ts. Consumers may read neither headers, which say whether the id was chosen, nor the installation.
    select m.id, m.created_at, '/outbox/' || left(m.workflow_id, 36) || '|' || m.id::text as chosen_id
    from outbox.message m
    where m.id > coalesce(v_old.live_to, '00000000-0000-0000-0000-000000000000') order by m.id limit p_limit
  ), present (name) as (
    (select p.consumer_group from outbox.processed p where p.epoch = p_epoch order by p.consumer_group limit 1)
    union all
    select (select p.consumer_group from outbox.processed p where p.epoch = p_epoch and p.consumer_group > g.name
      order by p.consumer_group limit 1) from present g where g.name is not null
  ), chosen as materialized (
    -- Most groups have none, and need no second lookup for each message. No other text lies between these two.
    select g.name, exists (select from outbox.processed p where p.epoch = p_epoch and p.consumer_group = g.name
      and p.message_id > '/outbox/' and p.message_id < '/outbox0') as chosen
    from present g where g.name is not null
  ), kept as (
    insert into outbox.processed as w (epoch, consumer_group, message_id, topic, processed_at, expired, ended_at)
    select v_epoch, p.consumer_group, p.message_id, p.topic, p.processed_at, p.expired, p.ended_at
    from page m cross join chosen c cross join lateral (
      select * from outbox.processed o
      where o.epoch = p_epoch and o.consumer_group = c.name and o.message_id = m.id::text
      union all
      select * from outbox.processed o
      where c.chosen and o.epoch = p_epoch and o.consumer_group = c.name and o.message_id = m.chosen_id offset 0) p
    where m.created_at < v_old.ended_at + interval '1 day'
    order by p.consumer_group, p.message_id
    on conflict do nothing
    returning 1
  )
  select (select count(*) from kept), (select count(*) from page), (select m.id from page m order by m.id desc limit 1)
  into carried, v_read, v_last;
  complete := v_read < p_limit;
  busy := false;
  update outbox.processed_epoch e set live_to = coalesce(v_last, e.live_to), live_done = complete where e.epoch = p_epoch;
  return next;
end
$$;

-- The same for messages that a consumer keeps (outbox.parked), in any state: while the row exists, the message must not be
-- taken for a new one.
create function outbox.carry_kept(p_epoch bigint, p_limit integer)
returns table (carried integer, complete boolean, busy boolean) language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  v_epoch bigint := outbox.epoch_to_carry_to();
  v_old outbox.processed_epoch;
  v_read integer;
begin
  select * into v_old from outbox.processed_epoch e where e.epoch = p_epoch and e.ended_at is not null;
  if v_epoch is null or not found or v_old.kept_done then
    return query select 0, v_epoch is not null, v_epoch is null;
    return;
  end if;
  with page as materialized (
    select k.consumer_group, k.message_id from outbox.parked k
    where (k.consumer_group, k.message_id) > (coalesce(v_old.kept_group, ''), coalesce(v_old.kept_id, ''))
    order by k.consumer_group, k.message_id limit p_limit
  ), kept as (
    insert into outbox.processed as w (epoch, consumer_group, message_id, topic, processed_at, expired, ended_at)
    select v_epoch, p.consumer_group, p.message_id, p.topic, p.processed_at, p.expired, p.ended_at
    from page k cross join lateral (
      select * from outbox.processed o
      where o.epoch = p_epoch and o.consumer_group = k.consumer_group and o.message_id = k.message_id offset 0) p
    order by p.consumer_group, p.message_id
    on conflict do nothing
    returning 1
  ), last as (
    select k.consumer_group, k.message_id from page k order by k.consumer_group desc, k.message_id desc limit 1
  )
  select (select count(*) from kept), (select count(*) from page),
    coalesce((select l.consumer_group from last l), v_old.kept_group), coalesce((select l.message_id from last l), v_old.kept_id)
  into carried, v_read, v_old.kept_group, v_old.kept_id;
  complete := v_read < p_limit;
  busy := false;
  update outbox.processed_epoch e set kept_group = v_old.kept_group, kept_id = v_old.kept_id, kept_done = complete
  where e.epoch = p_epoch;
  return next;
end
$$;

-- Drops an ended epoch whose remaining ids have been carried over. False: another keeper is working, or transactions are open;
-- it waits for these p_patience_ms or longer (see outbox.begin_epoch_change).
-- Locks: outbox.processed exclusively, briefly.
create function outbox.drop_processed(p_epoch bigint, p_patience_ms integer, p_pause_ms integer) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before text := current_setting('lock_timeout');
  v_old outbox.processed_epoch;
  v_patience integer;
begin
  if not outbox.may_keep_processed() then return false; end if;
  select * into v_old from outbox.processed_epoch e
  where e.epoch = p_epoch and e.live_done and e.kept_done and e.ended_at is not null;
  if not found then return false; end if;
  v_patience := outbox.begin_epoch_change(v_old, p_patience_ms, p_pause_ms);
  if v_patience is null then return false; end if;
  begin
    perform set_config('lock_timeout', v_patience || 'ms', true);
    lock table only outbox.processed in access exclusive mode;
    -- A transaction that has just released the parent table may release this one a little later.
    perform set_config('lock_timeout', '100ms', true);
    execute format('lock table outbox.%I in access exclusive mode', 'processed_' || p_epoch);
    execute format('drop table outbox.%I', 'processed_' || p_epoch);
    delete from outbox.processed_epoch e where e.epoch = p_epoch;
    perform set_config('lock_timeout', v_before, true);
    return true;
  exception when lock_not_available then
    return false;
  end;
end
$$;

-- Roles that may use the schema to send must not be able to change epochs.
revoke execute on function outbox.roll_processed(bigint, integer, integer), outbox.drop_processed(bigint, integer, integer)
  from public;

-- =====================================================================================================================
-- Inbox: tries of parked keys
-- =====================================================================================================================

-- The next due keys of a group after a place in their order. The settings force a walk of the index: with statistics from
-- before a burst, PostgreSQL 15 read and sorted all due keys for each page.
create function outbox.due_keys(p_group text, p_after_at timestamptz, p_after_id uuid, p_limit integer)
returns setof outbox.parked_key language sql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
  select k.* from outbox.parked_key k
  where k.consumer_group = p_group and k.next_at <= outbox.clock() and (k.next_at, k.id) > (p_after_at, p_after_id)
  order by k.next_at, k.id limit p_limit
$$;

-- Number of messages in the queue of a key, counted up to `p_most`.
create function outbox.count_queue(p_group text, p_topic text, p_key text, p_most integer) returns integer language sql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
  select count(*)::integer from outbox.parked_key k, lateral (
    select from outbox.parked p where p.key_id = k.id and p.position > k.ended limit p_most) q
  where k.id = (select x.id from outbox.parked_key x
    where x.consumer_group = p_group and x.topic = p_topic and x.key >= p_key and x.key <= p_key order by x.key limit 1)
$$;

create type outbox.try_answer as (
  kind text, wait_ms float8, message_id text, topic text, key text, address text, partition integer, "offset" text, wire text,
  body text, sent_at timestamptz, attempts integer, number integer
);

-- The value of parked_key.unseen_before for a key that was brought back and not tried since.
create function outbox.not_yet_known() returns xid8 language sql immutable parallel safe
as $$ select '18446744073709551615'::xid8 $$;

-- Ends a parked key if its queue is empty, and returns whether it did. A key that a failed message holds has a queue. A
-- transaction that is adding to the queue holds a share lock on the key's row. This does not wait for it: then the key stays,
-- and its next try ends it. Otherwise the queue is checked once more, because a message may have been added since the first
-- check.
--
-- The first check starts where the queue is known to begin. An addition that committed late may be before that, so only a
-- check of the whole queue is certain.
create function outbox.end_key(p_id uuid) returns boolean language plpgsql
set search_path = pg_catalog, pg_temp
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

-- Fails a parked message. With `p_block` its key waits for a person if the message is the first of the queue; otherwise the key
-- goes on with the next message.
create function outbox.give_up(p_group text, p_message_id text, p_reason text, p_error text, p_block boolean) returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  home uuid;
  own_position bigint;
  behind boolean;
begin
  update outbox.parked p set state = 'failed', reason = p_reason, last_error = coalesce(p_error, p.last_error),
    updated_at = outbox.clock()
  where p.consumer_group = p_group and p.message_id = p_message_id and p.state = 'parked'
  returning key_id, position into home, own_position;
  if home is null then return 'gone'; end if;
  if p_block and exists (select from outbox.parked_key k where k.id = home and k.key is not null) then
    -- If an earlier message was retried meanwhile, it blocks the key only when its turn comes.
    behind := exists (select from outbox.parked p where p.key_id = home and p.position < own_position);
    update outbox.parked_key k set next_at = case when behind then outbox.clock() else 'infinity' end where k.id = home;
    return case when behind then 'more' else 'blocked' end;
  end if;
  update outbox.parked p set key_id = null where p.consumer_group = p_group and p.message_id = p_message_id;
  if outbox.end_key(home) then return 'gone'; end if;
  update outbox.parked_key k set next_at = outbox.clock() where k.id = home;
  return 'more';
end $$;

-- Ends the try of a locked key that its process did not end. Returns the result of outbox.give_up if its message failed
-- because of that, else null: the key may be tried now.
--
-- `p_dead`: the process is dead. Its try does not count as an attempt, because the message may be innocent, but as a kill, and
-- from the second one on kills are limited. A restart of the server ends all connections, so it proves nothing about processes.
create function outbox.bury_try(k outbox.parked_key, p_dead boolean, p_max_kills integer, p_block boolean, out gave_up text, out message_id text)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_killed boolean := p_dead and k.begun_at > pg_postmaster_start_time();
  m outbox.parked;
begin
  update outbox.parked_key x set worker = null, tries = k.tries + 1, next_at = outbox.clock() where x.id = k.id;
  if k.begun_to > k.begun_from then
    -- It is unknown which of the messages killed the process.
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
  if v_killed and m.kills > 1 and m.kills >= p_max_kills then
    gave_up := outbox.give_up(m.consumer_group, m.message_id, 'killed', null, p_block);
    message_id := m.message_id;
  end if;
end $$;

-- True while a transaction from before this id is open that has looked at the parked keys, and so may be a handler that does not
-- see a key that came back since. It holds its lock on their table from before that look until it ends.
--
-- Why no limit of time: a handler may take as long as its group allows, and it ends at the limits of its own transaction
-- (outbox.limit_transaction). Why not all older transactions: one of others, in any database of the server, may stay open for
-- hours.
create function outbox.older_handlers(p_before xid8) returns boolean language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select p_before > pg_snapshot_xmin(pg_current_snapshot()) and exists (
    select from pg_locks looked join pg_locks own on own.virtualtransaction = looked.virtualtransaction
    where looked.locktype = 'relation' and looked.relation = 'outbox.parked_key'::regclass
      and looked.database = (select d.oid from pg_database d where d.datname = current_database())
      and own.locktype = 'transactionid' and own.mode = 'ExclusiveLock'
      and own.transactionid in (select x.id::xid from pg_snapshot_xip(pg_current_snapshot()) x (id) where x.id < p_before))
$$;

-- True if no connection to the server holds a share of this process's lock. PostgreSQL would also grant the lock to a connection
-- that holds a share itself, as behind a pooler, or where two consumers share one pool.
create function outbox.worker_died(p_worker bigint) returns boolean language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select case when exists (select from pg_locks l where l.pid = pg_backend_pid() and l.locktype = 'advisory'
      and l.mode = 'ShareLock' and l.objsubid = 1 and (l.classid::bigint << 32 | l.objid::bigint) = p_worker) then false
    else pg_try_advisory_xact_lock(p_worker) end
$$;

-- Begins a try of the first message of a parked key, or of up to `p_most` from the first on, none of which may have been tried
-- before. The try of one message counts from now on, that of many only when it ends: so a message that kills its process is
-- not tried again before its next due time, and not more often than others.
--
-- No other try begins for at least five seconds, even if the delay is shorter: a workflow and a stand-in may come at the same
-- time, and a busy process may take a while to join what it has begun. From then on the lock of the key's row keeps others out.
--
-- The first try of a key that an operator brought back determines which transactions to wait for. The transaction that brought
-- it back cannot know: others may begin while it runs, and do not see the key until it commits.
--
-- 'blocked': the first is a failed message. 'suspect': the first message was in hand when its process died, and may only be tried
-- with `p_alone`.
create function outbox.begin_try(
  p_id uuid, p_retry_ms float8[], p_block boolean, p_max_kills integer, p_worker bigint, p_most integer, p_alone boolean
) returns setof outbox.try_answer language plpgsql
set search_path = pg_catalog, pg_temp
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
  -- Handlers that began before the key came back do not see it.
  if k.unseen_before is not null then
    answer.kind := 'busy';
    if k.unseen_before = outbox.not_yet_known() then
      update outbox.parked_key x set unseen_before = pg_current_xact_id() where x.id = p_id;
      return next answer;
      return;
    end if;
    if outbox.older_handlers(k.unseen_before) then
      return next answer;
      return;
    end if;
  end if;
  if k.next_at > outbox.clock() then
    answer.kind := case when k.next_at = 'infinity' then 'blocked' else 'wait' end;
    answer.wait_ms := case when k.next_at < 'infinity' then extract(epoch from k.next_at - outbox.clock()) * 1000 end;
    return next answer;
    return;
  end if;
  if k.worker is not null then
    select * into v_buried from outbox.bury_try(k, k.worker <> p_worker and outbox.worker_died(k.worker), p_max_kills, p_block);
    if v_buried.gave_up is not null then
      answer.kind := v_buried.gave_up;
      answer.message_id := v_buried.message_id;
      return next answer;
      return;
    end if;
    k.tries := k.tries + 1;
  end if;
  -- Twice: an addition that committed late may be before the known beginning of the queue.
  for v_round in 1..2 loop
    for m in
      select * from outbox.parked x where x.key_id = p_id and x.position > k.ended order by x.position limit p_most
    loop
      if v_count = 0 then
        v_first := m;
        exit when m.state = 'failed' or m.attempts > cardinality(p_retry_ms) or (m.kills > 0 and not p_alone);
      else
        exit when m.state <> 'parked' or m.attempts > 0 or m.kills > 0;
        v_bytes := v_bytes + octet_length(m.wire) + coalesce(octet_length(m.body), 0);
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
    update outbox.parked_key x set tries = k.tries + 1, unseen_before = null, worker = p_worker, begun_at = clock_timestamp(),
      begun_from = v_first.position, begun_to = k.begun_to, ended = v_first.position - 1, next_at = outbox.clock()
      + greatest(p_retry_ms[least(v_first.attempts + 1, cardinality(p_retry_ms))], 5000) * interval '1 ms'
    where x.id = p_id;
    return;
  end if;
  if v_first.position is null then
    answer.kind := case when outbox.end_key(p_id) then 'gone' else 'busy' end;
  elsif v_first.state = 'failed' then
    update outbox.parked_key x set next_at = 'infinity' where x.id = p_id;
    answer.kind := 'blocked';
  elsif v_first.attempts > cardinality(p_retry_ms) then
    answer.kind := outbox.give_up(v_first.consumer_group, v_first.message_id, 'killed', null, p_block);
    answer.message_id := v_first.message_id;
  else
    answer.kind := 'suspect';
  end if;
  return next answer;
end $$;

-- Joins a try in the transaction of its effects; false if an operator has decided otherwise since it began, or another try has
-- overtaken it.
create function outbox.join_try(p_id uuid, p_group text, p_ids text[], p_number integer, p_worker bigint, p_idle_ms integer)
returns boolean language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform set_config('idle_in_transaction_session_timeout', p_idle_ms::text, true);
  perform pg_try_advisory_lock_shared(p_worker);
  perform from outbox.parked_key k where k.id = p_id and k.tries = p_number for no key update;
  return found and cardinality(p_ids) = (select count(*) from outbox.parked p
    where p.consumer_group = p_group and p.message_id = any(p_ids) and p.key_id = p_id and p.state = 'parked');
end $$;

-- Ends a try whose effects commit with it: 'gone' if the key is free again, 'more' if it has further messages.
create function outbox.end_try(p_id uuid, p_group text, p_ids text[]) returns text language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  -- What these are edited copies of, also over several edits.
  v_originals text[];
begin
  with recursive original (id) as (
    select p.supersedes from outbox.parked p
    where p.consumer_group = p_group and p.message_id = any(p_ids) and p.supersedes is not null
    union
    select p.supersedes from original o join outbox.parked p on p.consumer_group = p_group and p.message_id = o.id
    where p.supersedes is not null
  )
  select array_agg(o.id) into v_originals from original o;
  if v_originals is not null then perform outbox.renew_processed(p_group, v_originals); end if;
  delete from outbox.parked p where p.consumer_group = p_group and p.message_id = any(p_ids);
  -- The current time, not that of the transaction's beginning: a handler may have taken long.
  perform outbox.note_ended(p_group, p_ids, outbox.clock() + (clock_timestamp() - now()));
  -- Unless an operator has brought back a message meanwhile.
  update outbox.parked_key k set worker = null, next_at = outbox.clock(),
    ended = case when k.ended = k.begun_from - 1 then k.begun_to else k.ended end
  where k.id = p_id;
  return case when outbox.end_key(p_id) then 'gone' else 'more' end;
end $$;

-- Ends a failed try of one message, after its effects were rolled back: 'wait' with the time of the next try, or the result of
-- outbox.give_up.
create function outbox.fail_try(
  p_id uuid, p_group text, p_message_id text, p_attempts integer, p_number integer, p_reason text, p_error text, p_final boolean,
  p_retry_ms float8[], p_block boolean
) returns outbox.try_answer language plpgsql
set search_path = pg_catalog, pg_temp
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
    answer.kind := outbox.give_up(p_group, p_message_id, p_reason, p_error, p_block);
    return answer;
  end if;
  update outbox.parked_key k set next_at = outbox.clock() + p_retry_ms[p_attempts] * interval '1 ms' where k.id = p_id
  returning p_retry_ms[p_attempts] into answer.wait_ms;
  answer.kind := 'wait';
  return answer;
end $$;

-- Gives back a try that failed for reasons other than its messages: no attempt counts, and the next try is due in `p_in_ms`.
-- False if another try has overtaken it: then nothing is changed. Waits for transactions that have joined the try.
create function outbox.return_try(p_id uuid, p_group text, p_number integer, p_in_ms float8) returns boolean language plpgsql
set search_path = pg_catalog, pg_temp
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
  -- Changes the number, so that the try is given back only once.
  update outbox.parked_key x set worker = null, tries = k.tries + 1, next_at = outbox.clock() + p_in_ms * interval '1 ms'
  where x.id = p_id;
  return true;
end $$;

-- Ends the tries of a group whose processes are dead, and returns their keys, with the message that failed because of that.
-- A living process holds a share of its lock on a connection; PostgreSQL releases it when the process dies. What keeps the
-- connection open hides that, a pooler (pgbouncer) or another consumer that shares it: then the try becomes overdue, like that of
-- a frozen process.
create function outbox.end_dead_tries(p_group text, p_worker bigint, p_max_kills integer, p_block boolean)
returns table (key_id uuid, gave_up text) language plpgsql
set search_path = pg_catalog, pg_temp
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
    -- A concurrent check takes the process for alive, because of our lock, and leaves it to us.
    continue when not outbox.worker_died(w);
    for k in
      select x.* from outbox.parked_key x where x.consumer_group = p_group and x.worker = w
      order by x.id for no key update skip locked
    loop
      key_id := k.id;
      select b.message_id into gave_up from outbox.bury_try(k, true, p_max_kills, p_block) b;
      return next;
    end loop;
  end loop;
end $$;

-- =====================================================================================================================
-- Inbox: operations on kept messages
-- =====================================================================================================================

-- Locks a kept message that an operator wants to change, after its key, in the lock order of all changes of the queue. Never
-- waits. `answer` is null if it is locked, else 'unknown', 'handled' (it is no longer kept), or 'busy'.
-- No message behind a failed one that blocks the key is the first.
create function outbox.lock_kept(
  p_group text, p_id text, out answer text, out home uuid, out is_first boolean, out message outbox.parked
) language plpgsql
set search_path = pg_catalog, pg_temp
as $$
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

-- The parked key that a kept message returns to, locked: the existing one, or a new one. Null: another transaction has locked
-- or is creating it.
create function outbox.bring_back_key(p_message outbox.parked) returns uuid language plpgsql
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  found_id uuid;
  v_before text := current_setting('lock_timeout');
begin
  if p_message.key is not null then
    select k.id into found_id from outbox.parked_key k
    where k.consumer_group = p_message.consumer_group and k.topic = p_message.topic
      and k.key >= p_message.key and k.key <= p_message.key order by k.key limit 1
    for no key update skip locked;
    if found then return found_id; end if;
  end if;
  begin
    -- Two transactions that create the same key would wait for each other.
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

-- Continues a locked key after an operator has changed its queue: with `p_now` its first message is tried now; if the queue is
-- empty, the key ends. Does not wait for a transaction that is adding to the queue: then the next try finds nothing and ends
-- the key. A message that an operator brings back may be before the known beginning of the queue.
create function outbox.go_on(p_id uuid, p_now boolean) returns void language plpgsql
set search_path = pg_catalog, pg_temp
as $$
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

-- Whether a locked message matches these conditions of a filter; null matches all. The columns of other conditions never
-- change.
create function outbox.is_asked_for(p_message outbox.parked, p_states text[], p_reason text) returns boolean
language sql immutable
as $$ select (p_states is null or p_message.state = any (p_states))
  and (p_reason is null or p_message.reason is not distinct from p_reason) $$;

-- Whether a kept message, as `outbox.parked.wire` has it, has expired: the next try would drop it. Why by a pattern: the functions of
-- JSON refuse a text with an escaped NUL anywhere.
create function outbox.wire_expired(p_wire text) returns boolean language sql stable
as $$ select coalesce(outbox.instant_of(substring(p_wire
  from '[{,]"ce_expirytime":"([0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9:.]{5,18}(?:[Zz]|[+-][0-9]{2}:[0-9]{2}))"')) <= outbox.clock(), false) $$;

-- Retries a failed message, in its old place in the order; for a parked one, the next try is now. Only if it is in one of
-- these states, and kept for this reason; null: any. One that has expired would be dropped unseen: it stays.
create function outbox.retry_kept(
  p_group text, p_id text, p_states text[] default null, p_reason text default null, out result text, out details jsonb
) language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  l record;
  v_home uuid;
begin
  select * into l from outbox.lock_kept(p_group, p_id);
  result := case
    when l.answer is not null then l.answer
    when (l.message).state not in ('parked', 'failed') then 'too-late'
    when not outbox.is_asked_for(l.message, p_states, p_reason) then 'too-late'
    when outbox.wire_expired((l.message).wire) then 'expired'
    when (l.message).state = 'parked' and not l.is_first then 'behind-key' end;
  if result is not null then return; end if;
  v_home := coalesce(l.home, outbox.bring_back_key(l.message));
  if v_home is null then
    result := 'busy';
    return;
  end if;
  details := jsonb_build_object('from', (l.message).state, 'attempts', (l.message).attempts);
  if (l.message).state = 'failed' then
    update outbox.parked p set state = 'parked', key_id = v_home, attempts = 0, kills = 0, updated_at = outbox.clock()
    where p.consumer_group = p_group and p.message_id = p_id;
  end if;
  perform outbox.go_on(v_home, not exists (select from outbox.parked p
    where p.key_id = v_home and p.position < (l.message).position));
  result := 'retried';
end $$;

-- The same for several messages, in order: if the key of one is busy, later ones of that key are busy, too, because they would
-- overtake it.
create function outbox.retry_kept_in_order(
  p_group text, p_ids text[], p_states text[] default null, p_reason text default null
) returns table (id text, result text, details jsonb) language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key jsonb;
  v_busy jsonb[] := '{}';
begin
  foreach id in array p_ids loop
    select jsonb_build_array(p.topic, p.key) into v_key from outbox.parked p
    where p.consumer_group = p_group and p.message_id = id and p.key is not null;
    if v_key = any (v_busy) then
      result := 'busy';
      details := null;
    else
      select r.result, r.details into result, details from outbox.retry_kept(p_group, id, p_states, p_reason) r;
      if result = 'busy' and v_key is not null then v_busy := v_busy || v_key; end if;
    end if;
    return next;
  end loop;
end $$;

-- Ends a failed or parked message for good; its key goes on. States and reason as in retry_kept.
create function outbox.discard_kept(
  p_group text, p_id text, p_states text[] default null, p_reason text default null, out result text, out details jsonb
) language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  l record;
begin
  select * into l from outbox.lock_kept(p_group, p_id);
  result := case
    when l.answer is not null then l.answer
    when (l.message).state not in ('parked', 'failed') then 'too-late'
    when not outbox.is_asked_for(l.message, p_states, p_reason) then 'too-late' end;
  if result is not null then return; end if;
  update outbox.parked p set state = 'discarded', key_id = null, updated_at = outbox.clock()
  where p.consumer_group = p_group and p.message_id = p_id;
  if l.home is not null then perform outbox.go_on(l.home, l.is_first); end if;
  details := jsonb_build_object('from', (l.message).state, 'attempts', (l.message).attempts);
  result := 'discarded';
end $$;

-- Removes body, headers and error of an ended message. Its row stays, so that it is not handled if it is delivered again.
create function outbox.expunge_kept(p_group text, p_id text, out result text, out details jsonb) language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  l record;
begin
  select * into l from outbox.lock_kept(p_group, p_id);
  result := case when l.answer is not null then l.answer when (l.message).state in ('parked', 'failed') then 'not-ended' end;
  if result is not null then return; end if;
  update outbox.parked p set body = null, wire = '{}', last_error = null, expunged_at = outbox.clock()
  where p.consumer_group = p_group and p.message_id = p_id and p.expunged_at is null;
  details := jsonb_build_object('state', (l.message).state);
  result := 'expunged';
end $$;

-- Replaces a failed message, or the first of a parked key, by a copy with a new id in its place, which is tried now. The new
-- id is stored as processed, so that the copy is not handled if it also arrives from the broker.
create function outbox.edit_kept(
  p_group text, p_id text, p_version timestamptz, p_copy text, p_wire text, p_body bytea, out result text, out details jsonb
) language plpgsql
set search_path = pg_catalog, pg_temp
as $$
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
  -- Nothing that is made of the body, not even a hash: of few possible ones it tells which, also after an expunge.
  details := jsonb_build_object('copy', p_copy, 'from', m.state, 'attempts', m.attempts,
    'body', jsonb_build_object('changed', m.body is distinct from p_body));
end $$;

-- =====================================================================================================================
-- Inbox: retention of kept messages
-- =====================================================================================================================

-- Deletes ended messages of a consumer that have been unchanged for p_age_ms, from a place in their order on; returns the place
-- that it has reached, or nulls at the end. The original of a message that is still open stays, and for now also locked ones.
create function outbox.drop_ended_kept(
  p_age_ms bigint, p_at timestamptz, p_group text, p_id text, p_limit integer,
  out deleted integer, out next_at timestamptz, out next_group text, out next_id text
) language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  v_before timestamptz := outbox.clock() - p_age_ms * interval '1 ms';
  v_read integer;
begin
  with page as materialized (
    select k.updated_at, k.consumer_group, k.message_id, k.superseded_by from outbox.parked k
    where k.state in ('superseded', 'discarded') and k.updated_at < v_before
      and (k.updated_at, k.consumer_group, k.message_id) > (p_at, p_group, p_id)
    order by k.updated_at, k.consumer_group, k.message_id limit p_limit
  ), free as materialized (
    select k.consumer_group, k.message_id from page g
    join outbox.parked k on k.consumer_group = g.consumer_group and k.message_id = g.message_id
    where not exists (select from outbox.parked c
      where c.consumer_group = g.consumer_group and c.message_id = g.superseded_by
        and (c.state in ('parked', 'failed') or c.updated_at >= v_before))
    for update of k skip locked
  ), gone as (
    delete from outbox.parked k using free f where k.consumer_group = f.consumer_group and k.message_id = f.message_id
    returning k.consumer_group, k.message_id
  ), noted as (
    update outbox.processed o set ended_at = 'infinity' from gone g
    where o.consumer_group = g.consumer_group and o.message_id = g.message_id
  ), last as (
    select g.updated_at, g.consumer_group, g.message_id from page g
    order by g.updated_at desc, g.consumer_group desc, g.message_id desc limit 1
  )
  select (select count(*) from gone), (select count(*) from page), l.updated_at, l.consumer_group, l.message_id
  into deleted, v_read, next_at, next_group, next_id from (select) s left join last l on true;
  if v_read < p_limit then
    next_at := null;
    next_group := null;
    next_id := null;
  end if;
end $$;

-- Deletes failed messages of a group that have been unchanged for p_age_ms, and returns their number. Messages that hold their
-- key stay, with p_copied also those without a dead-letter copy, and for now locked ones.
create function outbox.drop_failed_kept(p_group text, p_age_ms bigint, p_copied boolean, p_limit integer) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
declare
  v_deleted integer;
begin
  with old as materialized (
    select k.consumer_group, k.message_id from outbox.parked k
    where k.consumer_group = p_group and k.state = 'failed' and k.key_id is null
      and k.updated_at < outbox.clock() - p_age_ms * interval '1 ms' and (not p_copied or k.copied_at is not null)
    order by k.updated_at limit p_limit for update skip locked
  ), gone as (
    delete from outbox.parked k using old o where k.consumer_group = o.consumer_group and k.message_id = o.message_id
    returning k.message_id
  ), noted as (
    update outbox.processed o set ended_at = 'infinity' from gone g
    where o.consumer_group = p_group and o.message_id = g.message_id
  )
  select count(*) into v_deleted from gone;
  return v_deleted;
end $$;

-- Rights of roles guard these tables. A trigger of the database may have given row level security to them, as to every new table: it
-- hides their rows from roles with these rights, and refuses what they store. Each table that is made later gets rid of it, too.
do $$
declare
  t regclass;
begin
  for t in select c.oid from pg_class c where c.relnamespace = 'outbox'::regnamespace and c.relrowsecurity loop
    execute format('alter table %s disable row level security', t);
  end loop;
end
$$;

-- For what else is in this transaction.
select set_config('search_path', current_setting('outbox.search_path'), true);
