-- The schema "outbox" as the migrations make it, by name: to read, and to see what a change of them changes. Nobody runs it.
-- Made by `npm run generated`; the same on PostgreSQL 15 to 18.

create type outbox.due_message as (
  id uuid,
  topic text,
  key text,
  "position" bigint,
  due_at timestamp with time zone,
  state outbox.state
);

create type outbox.state as enum (
  'waiting',
  'ready',
  'blocked',
  'retrying',
  'published',
  'confirmed',
  'failed',
  'canceled',
  'superseded',
  'discarded',
  'expired'
);

create type outbox.store_result as (
  n bigint,
  id uuid,
  workflow_id text,
  state outbox.state,
  due_at timestamp with time zone,
  duplicate boolean,
  refusal jsonb
);

create type outbox.stored as (
  id uuid,
  workflow_id text,
  state outbox.state,
  due_at timestamp with time zone,
  duplicate boolean
);

create type outbox.try_answer as (
  kind text,
  wait_ms double precision,
  message_id text,
  topic text,
  key text,
  address text,
  partition integer,
  "offset" text,
  wire text,
  body text,
  sent_at timestamp with time zone,
  attempts integer,
  number integer
);

create sequence outbox.attempt_id_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

create sequence outbox.audit_id_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

create sequence outbox.freed_key_id_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

create sequence outbox.message_position as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

create sequence outbox.parked_position_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

create sequence outbox.rate_n_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

create sequence outbox.reconciliation_id_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

create sequence outbox.sign_in_try_id_seq as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807 cache 1;

create table outbox.alert (
  rule text collate "C" not null,
  subject text collate "C" not null,
  since timestamp with time zone not null,
  calm integer not null default 0,
  calm_since timestamp with time zone,
  over_at timestamp with time zone,
  figure double precision not null,
  text text not null,
  next text not null,
  news bigint not null default 1,
  news_at timestamp with time zone not null,
  began_news bigint not null default 1,
  told jsonb not null default '{}'::jsonb,
  told_at timestamp with time zone
);
constraint alert_pkey PRIMARY KEY (rule, subject);

create table outbox.alert_destination (
  name text collate "C" not null,
  leased_until timestamp with time zone not null default '-infinity'::timestamp with time zone,
  told_at timestamp with time zone,
  failures integer not null default 0,
  error text
);
constraint alert_destination_pkey PRIMARY KEY (name);

create table outbox.alert_silence (
  rule text collate "C" not null,
  until timestamp with time zone not null,
  actor text not null,
  reason text
);
constraint alert_silence_pkey PRIMARY KEY (rule);

create table outbox.api_session (
  id_hash text collate "C" not null,
  provider text collate "C" not null,
  name text not null,
  grants text[] not null,
  begun_at timestamp with time zone not null default now(),
  used_at timestamp with time zone not null default now()
);
constraint api_session_pkey PRIMARY KEY (id_hash);
CREATE INDEX api_session_used ON outbox.api_session USING btree (used_at);

create table outbox.attempt (
  id bigint not null generated always as identity,
  message_id uuid not null,
  at timestamp with time zone not null,
  outcome text not null,
  error text,
  partition integer,
  "offset" bigint
);
constraint attempt_outcome_check CHECK ((outcome = ANY (ARRAY['acknowledged'::text, 'rejected'::text, 'ambiguous'::text, 'permanent'::text])));
constraint attempt_pkey PRIMARY KEY (id);
CREATE INDEX attempt_message ON outbox.attempt USING btree (message_id, at);

create table outbox.audit (
  id bigint not null generated always as identity,
  at timestamp with time zone not null default now(),
  actor text not null,
  action text not null,
  topic text collate "C",
  message_id uuid,
  consumer_group text collate "C",
  inbox_id text collate "C",
  bulk_id uuid,
  result text not null,
  reason text,
  details jsonb
);
constraint audit_pkey PRIMARY KEY (id);
constraint audit_sealed TRIGGER DEFERRABLE INITIALLY DEFERRED;
CREATE UNIQUE INDEX audit_bulk ON outbox.audit USING btree (bulk_id, message_id) WHERE (bulk_id IS NOT NULL);
CREATE UNIQUE INDEX audit_bulk_kept ON outbox.audit USING btree (bulk_id, inbox_id) WHERE ((bulk_id IS NOT NULL) AND (inbox_id IS NOT NULL));
CREATE INDEX audit_inbox ON outbox.audit USING btree (consumer_group, inbox_id, id) WHERE (inbox_id IS NOT NULL);
CREATE INDEX audit_message ON outbox.audit USING btree (message_id, id) WHERE (message_id IS NOT NULL);
CREATE INDEX audit_topic ON outbox.audit USING btree (topic, id) WHERE (message_id IS NULL);
CREATE CONSTRAINT TRIGGER audit_sealed AFTER INSERT ON outbox.audit DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION outbox.seal_audit();

create table outbox.audit_seal (
  "position" bigint not null,
  audit_id bigint not null,
  hash text not null
);
constraint audit_seal_audit_id_key UNIQUE (audit_id);
constraint audit_seal_pkey PRIMARY KEY ("position");

create table outbox.batch (
  id uuid not null,
  topic text collate "C" not null,
  lane integer not null,
  first_position bigint not null,
  last_position bigint not null,
  count integer not null,
  published_at timestamp with time zone not null,
  partitions jsonb not null
);
constraint batch_pkey PRIMARY KEY (id);
CREATE INDEX batch_lane ON outbox.batch USING btree (topic, lane, last_position);
CREATE INDEX batch_lane_time ON outbox.batch USING btree (topic, lane, published_at);

create table outbox.breaker (
  consumer_group text not null,
  address text not null,
  consumer uuid not null,
  host text not null,
  pid integer not null,
  paused_at timestamp with time zone not null,
  failed_keys integer not null,
  keys integer not null,
  probes integer not null,
  next_probe_at timestamp with time zone not null,
  error text not null,
  seen_at timestamp with time zone not null default clock_timestamp()
);
constraint breaker_pkey PRIMARY KEY (consumer_group, address, consumer);

create table outbox.bulk_operation (
  id uuid not null,
  consumer_group text collate "C",
  action text not null,
  filter jsonb not null,
  arguments jsonb not null,
  actor text not null,
  reason text not null,
  rate_per_second integer not null,
  state text not null,
  selected_until timestamp with time zone not null,
  total integer not null,
  total_exact boolean not null,
  walked_position bigint not null,
  walked_id text collate "C" not null,
  walked boolean not null,
  pending text[] not null,
  pending_since timestamp with time zone,
  counts jsonb not null,
  next_page_at timestamp with time zone not null,
  failures integer not null,
  last_error text,
  told_at timestamp with time zone,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now(),
  finished_at timestamp with time zone
);
constraint bulk_operation_action_check CHECK ((action = ANY (ARRAY['cancel'::text, 'discard'::text, 'replay'::text, 'reschedule'::text, 'retry'::text, 'withdraw'::text])));
constraint bulk_operation_check CHECK (((consumer_group IS NULL) OR (action = ANY (ARRAY['discard'::text, 'retry'::text]))));
constraint bulk_operation_filter_check CHECK (((jsonb_typeof(filter) = 'object'::text) AND (filter <> '{}'::jsonb)));
constraint bulk_operation_pkey PRIMARY KEY (id);
constraint bulk_operation_rate_per_second_check CHECK (((rate_per_second >= 1) AND (rate_per_second <= 10000)));
constraint bulk_operation_state_check CHECK ((state = ANY (ARRAY['running'::text, 'paused'::text, 'aborted'::text, 'done'::text, 'failed'::text])));
CREATE INDEX bulk_operation_created ON outbox.bulk_operation USING btree (created_at, id);
CREATE INDEX bulk_operation_running ON outbox.bulk_operation USING btree (created_at) WHERE (state = 'running'::text);

create table outbox.consumer (
  id uuid not null,
  consumer_group text not null,
  host text not null,
  pid integer not null,
  version text not null,
  started_at timestamp with time zone not null default clock_timestamp(),
  seen_at timestamp with time zone not null default clock_timestamp(),
  partitions jsonb not null
);
constraint consumer_pkey PRIMARY KEY (id);

create table outbox.consumer_group (
  consumer_group text collate "C" not null,
  window_ms bigint,
  seen_at timestamp with time zone not null
);
constraint consumer_group_pkey PRIMARY KEY (consumer_group);
constraint consumer_group_window_ms_check CHECK ((window_ms > 0));

create table outbox.figures (
  only_one boolean not null default true,
  number bigint not null,
  began_at timestamp with time zone not null,
  noted bigint,
  noted_at timestamp with time zone,
  figures jsonb,
  judged bigint not null default 0
);
constraint figures_only_one_check CHECK (only_one);
constraint figures_pkey PRIMARY KEY (only_one);

create table outbox.freed_key (
  id bigint not null generated always as identity,
  topic text collate "C" not null,
  lane integer not null,
  key text collate "C" not null,
  xid xid8 not null default pg_current_xact_id()
);
constraint freed_key_pkey PRIMARY KEY (id);
CREATE INDEX freed_key_key ON outbox.freed_key USING btree (topic, lane, key, id) WHERE (id > 0);
CREATE INDEX freed_key_xid ON outbox.freed_key USING btree (topic, lane, xid);

create table outbox.group_look (
  transport text collate "C" not null,
  address text collate "C" not null,
  number bigint not null,
  began_at timestamp with time zone not null
);
constraint group_look_pkey PRIMARY KEY (transport, address);

create table outbox.group_place (
  transport text collate "C" not null,
  address text collate "C" not null,
  consumer_group text collate "C" not null,
  look bigint not null default 0,
  looked_at timestamp with time zone not null default clock_timestamp(),
  places jsonb not null default '{}'::jsonb
);
constraint group_place_pkey PRIMARY KEY (transport, address, consumer_group);

create table outbox.installation (
  only_one boolean not null default true,
  id uuid not null default gen_random_uuid(),
  system_identifier text not null,
  database_oid oid not null,
  served_since timestamp with time zone,
  twin jsonb,
  created_at timestamp with time zone not null default now()
);
constraint installation_only_one_check CHECK (only_one);
constraint installation_pkey PRIMARY KEY (only_one);
CREATE TRIGGER emptied BEFORE DELETE OR TRUNCATE ON outbox.installation FOR EACH STATEMENT EXECUTE FUNCTION outbox.refuse_emptying();

create table outbox.lane (
  topic text collate "C" not null,
  n integer not null,
  cursor bigint not null default 0,
  snapshot pg_snapshot,
  late_cursor bigint,
  late_snapshot pg_snapshot,
  owner uuid,
  alive_until timestamp with time zone,
  incarnation timestamp with time zone,
  session bigint,
  suspect pg_snapshot,
  freed_snapshot pg_snapshot,
  blocking_xid xid8 default pg_current_xact_id(),
  failed_xid xid8 default pg_current_xact_id(),
  hold jsonb,
  wanted_since timestamp with time zone,
  started_at timestamp with time zone,
  untold_from bigint,
  untold_to bigint
) with (fillfactor=50);
constraint lane_pkey PRIMARY KEY (topic, n);
CREATE TRIGGER emptied BEFORE TRUNCATE ON outbox.lane FOR EACH STATEMENT EXECUTE FUNCTION outbox.refuse_emptying();

create table outbox.leaf (
  n bigint not null,
  opened_at timestamp with time zone not null,
  closed_at timestamp with time zone,
  running text[],
  messages bigint,
  newest_at timestamp with time zone,
  archived_at timestamp with time zone,
  dropped_to timestamp with time zone
);
constraint leaf_n_check CHECK ((n > 0));
constraint leaf_pkey PRIMARY KEY (n);
CREATE UNIQUE INDEX leaf_current ON outbox.leaf USING btree ((true)) WHERE (closed_at IS NULL);
CREATE TRIGGER current_gone BEFORE DELETE ON outbox.leaf FOR EACH ROW WHEN ((old.closed_at IS NULL)) EXECUTE FUNCTION outbox.refuse_emptying();
CREATE TRIGGER emptied BEFORE TRUNCATE ON outbox.leaf FOR EACH STATEMENT EXECUTE FUNCTION outbox.refuse_emptying();

create table outbox.letter_turn (
  consumer_group text collate "C" not null,
  owner uuid not null,
  ends_at timestamp with time zone not null
);
constraint letter_turn_pkey PRIMARY KEY (consumer_group);

create table outbox.log (

) inherits (outbox.message);
constraint log_empty CHECK (((id IS NULL) AND (topic IS NULL) AND (xid IS NULL) AND (state IS NULL))) NO INHERIT;

create table outbox.log_history (
  id uuid not null,
  topic text collate "C" not null,
  lane integer not null,
  "position" bigint not null,
  xid xid8 not null,
  key text collate "C",
  ref text collate "C",
  payload text not null,
  content_type text,
  headers jsonb,
  state outbox.state not null,
  workflow_id text,
  due_at timestamp with time zone,
  workflow_due_at timestamp with time zone,
  attempts integer not null,
  sends integer not null,
  last_error text,
  maybe_published boolean not null,
  partition integer,
  "offset" bigint,
  confirm_by timestamp with time zone,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  published_at timestamp with time zone,
  supersedes uuid,
  notified boolean,
  expires_at timestamp with time zone,
  first_due_at timestamp with time zone,
  expunged_at timestamp with time zone
);
constraint log_history_empty CHECK (((id IS NULL) AND (topic IS NULL))) NO INHERIT;

create table outbox.log_passed (

) inherits (outbox.message);
constraint log_passed_empty CHECK (((id IS NULL) AND (topic IS NULL) AND (xid IS NULL) AND (state IS NULL))) NO INHERIT;

create table outbox.mark (
  consumer_group text collate "C" not null,
  address text collate "C" not null,
  partition integer not null,
  owner uuid not null,
  ids integer[] not null,
  kills integer not null default 0,
  begun_at timestamp with time zone not null default clock_timestamp()
);
constraint mark_pkey PRIMARY KEY (consumer_group, address, partition, owner);

create table outbox.message (
  id uuid not null,
  topic text collate "C" not null,
  lane integer not null,
  "position" bigint not null default nextval('outbox.message_position'::regclass),
  xid xid8 not null default pg_current_xact_id() with {n_distinct=-1} statistics 1,
  key text collate "C",
  ref text collate "C",
  payload text not null,
  content_type text default 'application/json'::text,
  headers jsonb,
  state outbox.state not null,
  workflow_id text,
  due_at timestamp with time zone,
  workflow_due_at timestamp with time zone,
  attempts integer not null default 0,
  sends integer not null default 0,
  last_error text,
  maybe_published boolean not null default false,
  partition integer,
  "offset" bigint,
  confirm_by timestamp with time zone,
  created_at timestamp with time zone not null default statement_timestamp(),
  updated_at timestamp with time zone not null default statement_timestamp(),
  published_at timestamp with time zone,
  supersedes uuid,
  notified boolean,
  expires_at timestamp with time zone,
  first_due_at timestamp with time zone,
  expunged_at timestamp with time zone
) with (fillfactor=90, autovacuum_analyze_scale_factor=0.02, autovacuum_analyze_threshold=500, autovacuum_vacuum_insert_scale_factor=0.1);
constraint message_pkey PRIMARY KEY (id);
CREATE INDEX message_blocked ON outbox.message USING btree (topic, lane, key, "position") WHERE (state = 'blocked'::outbox.state);
CREATE INDEX message_blocking ON outbox.message USING btree (topic, lane, key, "position") WHERE (state = ANY (ARRAY['retrying'::outbox.state, 'blocked'::outbox.state]));
CREATE INDEX message_due ON outbox.message USING btree (due_at, "position") WHERE (state = ANY (ARRAY['waiting'::outbox.state, 'retrying'::outbox.state]));
CREATE INDEX message_expiring ON outbox.message USING btree (expires_at, id) WHERE ((state = 'blocked'::outbox.state) AND (expires_at IS NOT NULL) AND (published_at IS NULL));
CREATE INDEX message_failed ON outbox.message USING btree (topic, lane, key, "position") WHERE (state = 'failed'::outbox.state);
CREATE INDEX message_finished ON outbox.message USING btree (state, updated_at, id) WHERE (state = ANY (ARRAY['published'::outbox.state, 'confirmed'::outbox.state, 'failed'::outbox.state, 'canceled'::outbox.state, 'superseded'::outbox.state, 'discarded'::outbox.state, 'expired'::outbox.state]));
CREATE INDEX message_lane_position ON outbox.message USING btree (topic, lane, "position") WHERE ((state = 'ready'::outbox.state) AND ("position" > 0));
CREATE INDEX message_lane_xid ON outbox.message USING btree (topic, lane, xid) WHERE (state = 'ready'::outbox.state);
CREATE INDEX message_listed ON outbox.message USING btree (topic, state, "position", id) WHERE ((state <> 'ready'::outbox.state) AND ("position" > 0));
CREATE INDEX message_open_key ON outbox.message USING btree (topic, key, (
CASE
    WHEN (state = 'waiting'::outbox.state) THEN due_at
    ELSE NULL::timestamp with time zone
END), "position") WHERE ((state = ANY (ARRAY['waiting'::outbox.state, 'retrying'::outbox.state, 'blocked'::outbox.state])) AND (key IS NOT NULL) AND (lane >= 0));
CREATE INDEX message_overdue ON outbox.message USING btree (topic, confirm_by, "position") WHERE ((state = 'published'::outbox.state) AND (confirm_by IS NOT NULL) AND ("position" > 0));
CREATE INDEX message_ref ON outbox.message USING btree (topic, ref, created_at) WHERE (ref IS NOT NULL);
CREATE INDEX message_supersedes ON outbox.message USING btree (supersedes) WHERE (supersedes IS NOT NULL);
CREATE INDEX message_told ON outbox.message USING btree (due_at, id) WHERE ((state = ANY (ARRAY['waiting'::outbox.state, 'retrying'::outbox.state])) AND (workflow_due_at IS NOT NULL) AND (workflow_id ~~ '%/message/%'::text));
CREATE INDEX message_unconfirmed ON outbox.message USING btree (topic, key, "position") WHERE ((state = 'published'::outbox.state) AND (confirm_by IS NOT NULL));
CREATE INDEX message_unnotified ON outbox.message USING btree ("position") WHERE (NOT notified);
CREATE INDEX message_untold ON outbox.message USING btree (topic, due_at) WHERE ((state = ANY (ARRAY['waiting'::outbox.state, 'retrying'::outbox.state])) AND (workflow_due_at IS DISTINCT FROM due_at));
CREATE UNIQUE INDEX message_waiting_ref ON outbox.message USING btree (topic, ref) WHERE (state = 'waiting'::outbox.state);
CREATE INDEX message_xid ON outbox.message USING btree (xid) WHERE ("position" > 0);
CREATE TRIGGER message_due_by_expiry BEFORE INSERT OR UPDATE OF due_at ON outbox.message FOR EACH ROW WHEN (((new.due_at > new.expires_at) AND (new.published_at IS NULL))) EXECUTE FUNCTION outbox.due_by_expiry();
CREATE TRIGGER message_failure BEFORE UPDATE OF state ON outbox.message FOR EACH ROW WHEN (((old.state IS DISTINCT FROM new.state) AND (('failed'::outbox.state = old.state) OR ('failed'::outbox.state = new.state)))) EXECUTE FUNCTION outbox.note_failure();
CREATE TRIGGER message_freed AFTER UPDATE OF state ON outbox.message FOR EACH ROW WHEN (((old.state = ANY (ARRAY['retrying'::outbox.state, 'failed'::outbox.state])) AND (new.state <> old.state) AND (new.key IS NOT NULL))) EXECUTE FUNCTION outbox.note_freed();
CREATE TRIGGER message_insert BEFORE INSERT ON outbox.message FOR EACH ROW WHEN ((new.state <> ALL (ARRAY['waiting'::outbox.state, 'ready'::outbox.state]))) EXECUTE FUNCTION outbox.refuse_insert();
CREATE TRIGGER message_transition BEFORE UPDATE OF state ON outbox.message FOR EACH ROW WHEN (((old.state IS DISTINCT FROM new.state) AND (NOT (((old.state = 'waiting'::outbox.state) AND (new.state = ANY (ARRAY['ready'::outbox.state, 'canceled'::outbox.state]))) OR ((old.state = 'ready'::outbox.state) AND (new.state = ANY (ARRAY['published'::outbox.state, 'retrying'::outbox.state, 'blocked'::outbox.state, 'failed'::outbox.state, 'confirmed'::outbox.state, 'canceled'::outbox.state, 'expired'::outbox.state]))) OR ((old.state = 'blocked'::outbox.state) AND (new.state = ANY (ARRAY['ready'::outbox.state, 'canceled'::outbox.state, 'expired'::outbox.state]))) OR ((old.state = 'retrying'::outbox.state) AND (new.state = ANY (ARRAY['ready'::outbox.state, 'failed'::outbox.state, 'confirmed'::outbox.state, 'canceled'::outbox.state]))) OR ((old.state = 'published'::outbox.state) AND (new.state = ANY (ARRAY['ready'::outbox.state, 'failed'::outbox.state, 'confirmed'::outbox.state]))) OR ((old.state = 'failed'::outbox.state) AND (new.state = ANY (ARRAY['ready'::outbox.state, 'confirmed'::outbox.state, 'superseded'::outbox.state, 'discarded'::outbox.state]))) OR ((old.state = 'expired'::outbox.state) AND (new.state = 'confirmed'::outbox.state)))))) EXECUTE FUNCTION outbox.refuse_transition();

create table outbox.message_history (
  id uuid not null,
  topic text collate "C" not null,
  lane integer not null,
  "position" bigint not null,
  key text collate "C",
  ref text collate "C",
  payload text not null,
  content_type text not null,
  headers jsonb,
  state outbox.state not null,
  workflow_id text not null,
  due_at timestamp with time zone,
  workflow_due_at timestamp with time zone,
  attempts integer not null,
  sends integer not null,
  last_error text,
  maybe_published boolean not null,
  partition integer,
  "offset" bigint,
  confirm_by timestamp with time zone,
  created_at timestamp with time zone not null,
  updated_at timestamp with time zone not null,
  published_at timestamp with time zone,
  supersedes uuid,
  archived_at timestamp with time zone not null,
  expires_at timestamp with time zone,
  expunged_at timestamp with time zone
) partition by RANGE (archived_at);
CREATE INDEX message_history_id ON ONLY outbox.message_history USING btree (id);
CREATE INDEX message_history_position ON ONLY outbox.message_history USING btree (topic, "position", id);
CREATE INDEX message_history_ref ON ONLY outbox.message_history USING btree (topic, ref, created_at) WHERE (ref IS NOT NULL);

create table outbox.migration (
  name text collate "C" not null,
  checksum text not null,
  compatible boolean not null,
  applied_at timestamp with time zone not null default now()
);
constraint migration_pkey PRIMARY KEY (name);
CREATE TRIGGER emptied BEFORE TRUNCATE ON outbox.migration FOR EACH STATEMENT EXECUTE FUNCTION outbox.refuse_emptying();

create table outbox.parked (
  consumer_group text collate "C" not null,
  message_id text collate "C" not null,
  "position" bigint not null generated always as identity,
  state text not null default 'parked'::text,
  key_id uuid,
  topic text collate "C" not null,
  key text collate "C",
  address text not null,
  partition integer not null,
  "offset" text not null,
  wire text not null,
  body bytea,
  sent_at timestamp with time zone not null,
  attempts integer not null default 0,
  kills integer not null default 0,
  reason text,
  last_error text,
  supersedes text collate "C",
  superseded_by text collate "C",
  copied_at timestamp with time zone,
  expunged_at timestamp with time zone,
  arrived_at timestamp with time zone not null default outbox.clock(),
  updated_at timestamp with time zone not null default outbox.clock()
);
constraint parked_check CHECK (((state <> 'parked'::text) OR (key_id IS NOT NULL)));
constraint parked_pkey PRIMARY KEY (consumer_group, message_id);
constraint parked_state_check CHECK ((state = ANY (ARRAY['parked'::text, 'failed'::text, 'superseded'::text, 'discarded'::text])));
CREATE INDEX parked_ended ON outbox.parked USING btree (updated_at, consumer_group, message_id) WHERE (state = ANY (ARRAY['superseded'::text, 'discarded'::text]));
CREATE INDEX parked_failed ON outbox.parked USING btree (consumer_group, "position") WHERE (state = 'failed'::text);
CREATE INDEX parked_failed_ended ON outbox.parked USING btree (consumer_group, updated_at) WHERE ((state = 'failed'::text) AND (key_id IS NULL));
CREATE INDEX parked_listed ON outbox.parked USING btree (consumer_group, "position", message_id);
CREATE INDEX parked_queue ON outbox.parked USING btree (key_id, "position") WHERE (key_id IS NOT NULL);
CREATE INDEX parked_uncopied ON outbox.parked USING btree (consumer_group, "position") WHERE ((state = 'failed'::text) AND (copied_at IS NULL));
CREATE TRIGGER parked_transition BEFORE UPDATE OF state ON outbox.parked FOR EACH ROW WHEN (((old.state <> new.state) AND (((((((old.state <> 'parked'::text) OR (new.state <> 'failed'::text)) AND ((old.state <> 'failed'::text) OR (new.state <> 'parked'::text))) AND ((old.state <> 'failed'::text) OR (new.state <> 'superseded'::text))) AND ((old.state <> 'failed'::text) OR (new.state <> 'discarded'::text))) AND ((old.state <> 'parked'::text) OR (new.state <> 'superseded'::text))) AND ((old.state <> 'parked'::text) OR (new.state <> 'discarded'::text))))) EXECUTE FUNCTION outbox.refuse_transition();

create table outbox.parked_key (
  id uuid not null default outbox.uuid_v7(),
  consumer_group text collate "C" not null,
  topic text collate "C" not null,
  key text collate "C",
  workflow_id text not null,
  next_at timestamp with time zone not null,
  told_at timestamp with time zone,
  unseen_before xid8,
  tries integer not null default 0,
  worker bigint,
  begun_at timestamp with time zone,
  begun_from bigint not null default 0,
  begun_to bigint not null default 0,
  ended bigint not null default '-1'::integer,
  parked_at timestamp with time zone not null default outbox.clock()
);
constraint parked_key_consumer_group_topic_key_key UNIQUE (consumer_group, topic, key);
constraint parked_key_pkey PRIMARY KEY (id);
CREATE INDEX parked_key_next ON outbox.parked_key USING btree (consumer_group, next_at, id);
CREATE INDEX parked_key_untold ON outbox.parked_key USING btree (consumer_group, next_at) WHERE (told_at IS NULL);
CREATE INDEX parked_key_worked ON outbox.parked_key USING btree (consumer_group, worker) WHERE (worker IS NOT NULL);

create table outbox.place_question (
  id uuid not null,
  asked_at timestamp with time zone not null default now(),
  answered_at timestamp with time zone
);
constraint place_question_pkey PRIMARY KEY (id);

create table outbox.processed (
  epoch bigint not null default outbox.current_epoch(),
  consumer_group text collate "C" not null,
  message_id text collate "C" not null,
  topic text collate "C",
  processed_at timestamp with time zone not null default now(),
  expired boolean,
  ended_at timestamp with time zone
) partition by LIST (epoch);
constraint processed_expired_check CHECK (expired);
constraint processed_pkey PRIMARY KEY (consumer_group, message_id, epoch);

create table outbox.processed_1 (
  epoch bigint not null default outbox.current_epoch(),
  consumer_group text collate "C" not null,
  message_id text collate "C" not null,
  topic text collate "C",
  processed_at timestamp with time zone not null default now(),
  expired boolean,
  ended_at timestamp with time zone
) partition of outbox.processed FOR VALUES IN ('1');
constraint processed_1_pkey PRIMARY KEY (consumer_group, message_id, epoch);
constraint processed_expired_check CHECK (expired);

create table outbox.processed_epoch (
  epoch bigint not null,
  begun_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  tries integer not null default 0,
  tried_at timestamp with time zone,
  live_to uuid,
  live_done boolean not null default false,
  kept_group text collate "C",
  kept_id text collate "C",
  kept_done boolean not null default false
);
constraint processed_epoch_epoch_check CHECK ((epoch > 0));
constraint processed_epoch_pkey PRIMARY KEY (epoch);
CREATE UNIQUE INDEX processed_epoch_current ON outbox.processed_epoch USING btree ((true)) WHERE (ended_at IS NULL);
CREATE TRIGGER current_gone BEFORE DELETE ON outbox.processed_epoch FOR EACH ROW WHEN ((old.ended_at IS NULL)) EXECUTE FUNCTION outbox.refuse_emptying();
CREATE TRIGGER emptied BEFORE TRUNCATE ON outbox.processed_epoch FOR EACH STATEMENT EXECUTE FUNCTION outbox.refuse_emptying();

create table outbox.rate (
  scope text collate "C" not null,
  n bigint not null generated always as identity,
  sent_at timestamp with time zone[] not null default '{}'::timestamp with time zone[],
  counts integer[] not null default '{}'::integer[]
) with (fillfactor=50);
constraint rate_pkey PRIMARY KEY (scope, n);

create table outbox.reconciliation (
  id bigint not null generated always as identity,
  at timestamp with time zone not null,
  took_ms integer not null,
  thorough boolean not null,
  resume jsonb,
  rows integer not null,
  workflows integer not null,
  checked_rows integer not null,
  checked_workflows integer not null,
  restarted integer not null,
  ended integer not null
);
constraint reconciliation_pkey PRIMARY KEY (id);

create table outbox.relay (
  id uuid not null,
  host text not null,
  pid integer not null,
  started_at timestamp with time zone not null default clock_timestamp(),
  seen_at timestamp with time zone not null default clock_timestamp(),
  servers jsonb not null,
  lags jsonb not null,
  certificates jsonb not null default '[]'::jsonb,
  clock_offset_ms double precision not null
);
constraint relay_pkey PRIMARY KEY (id);

create table outbox.request (
  actor text collate "C" not null,
  key text collate "C" not null,
  digest text not null,
  status integer,
  answer text,
  created_at timestamp with time zone not null default now(),
  taken_until timestamp with time zone
);
constraint request_pkey PRIMARY KEY (actor, key);
CREATE INDEX request_created ON outbox.request USING btree (created_at);

create table outbox.schedule (
  name text collate "C" not null,
  topic text collate "C" not null,
  key text collate "C",
  ref text collate "C",
  payload text not null,
  headers jsonb,
  cron text,
  every_ms bigint,
  time_zone text not null default 'UTC'::text,
  overlap text not null default 'allow'::text,
  catch_up_ms bigint not null,
  expires_after_ms bigint,
  paused boolean not null default false,
  removed boolean not null default false,
  version bigint not null default 1,
  followed_version bigint,
  followed_at timestamp with time zone,
  holds_since timestamp with time zone not null default outbox.clock(),
  next_at timestamp with time zone[] not null default '{}'::timestamp with time zone[],
  last_at timestamp with time zone,
  last_message_id uuid,
  last_error text,
  created_at timestamp with time zone not null default now(),
  updated_at timestamp with time zone not null default now()
);
constraint schedule_catch_up_ms_check CHECK ((catch_up_ms >= 10000));
constraint schedule_every_ms_check CHECK ((every_ms >= 1000));
constraint schedule_expires_after_ms_check CHECK ((expires_after_ms >= 0));
constraint schedule_overlap_check CHECK ((overlap = ANY (ARRAY['allow'::text, 'skip'::text])));
constraint schedule_pkey PRIMARY KEY (name);
constraint schedule_rule CHECK ((num_nonnulls(cron, every_ms) = 1));
CREATE INDEX schedule_unfollowed ON outbox.schedule USING btree (name) WHERE (followed_version IS DISTINCT FROM version);

create table outbox.setting (
  name text collate "C" not null,
  value text not null,
  updated_at timestamp with time zone not null default now()
);
constraint setting_pkey PRIMARY KEY (name);

create table outbox.sign_in_try (
  id bigint not null generated always as identity,
  what text collate "C" not null,
  at timestamp with time zone not null
);
constraint sign_in_try_pkey PRIMARY KEY (id);
CREATE INDEX sign_in_try_at ON outbox.sign_in_try USING btree (at);
CREATE INDEX sign_in_try_what ON outbox.sign_in_try USING btree (what, at);

create table outbox.topic (
  name text collate "C" not null,
  transport text not null,
  address text not null,
  lanes integer not null default 1,
  partitions integer,
  timer text not null default 'workflow'::text,
  retry_ms bigint[] not null,
  exhausted text not null default 'release-key'::text,
  confirm_group text,
  receipt_timeout_ms bigint[],
  confirm_max_sends integer,
  rate_messages integer,
  rate_per_ms bigint,
  rate_of text,
  horizon interval not null default '24:00:00'::interval,
  payload_limit_bytes integer not null default 921600,
  delay_limit interval not null default '400 days'::interval,
  visible boolean not null default true,
  paused boolean not null default false,
  updated_at timestamp with time zone not null default now()
);
constraint confirm_whole CHECK ((num_nulls(confirm_group, receipt_timeout_ms, confirm_max_sends) = ANY (ARRAY[0, 3])));
constraint rate_whole CHECK ((num_nulls(rate_messages, rate_per_ms, rate_of) = ANY (ARRAY[0, 3])));
constraint topic_confirm_max_sends_check CHECK (((confirm_max_sends >= 1) AND (confirm_max_sends <= 100)));
constraint topic_exhausted_check CHECK ((exhausted = ANY (ARRAY['release-key'::text, 'block-key'::text])));
constraint topic_lanes_check CHECK (((lanes >= 1) AND (lanes <= 1024)));
constraint topic_partitions_check CHECK ((partitions > 0));
constraint topic_pkey PRIMARY KEY (name);
constraint topic_rate_messages_check CHECK ((rate_messages > 0));
constraint topic_rate_of_check CHECK ((rate_of = ANY (ARRAY['topic'::text, 'address'::text])));
constraint topic_rate_per_ms_check CHECK ((rate_per_ms > 0));
constraint topic_timer_check CHECK ((timer = ANY (ARRAY['workflow'::text, 'lane'::text])));
CREATE TRIGGER emptied BEFORE TRUNCATE ON outbox.topic FOR EACH STATEMENT EXECUTE FUNCTION outbox.refuse_emptying();

create table outbox.topic_change (
  topic text collate "C" not null,
  id uuid not null default gen_random_uuid(),
  kind text not null,
  wanted integer not null,
  step text not null default 'begun'::text,
  running text[],
  prepared text[],
  walks integer not null default 0,
  cursor text,
  skipped uuid[] not null default ARRAY[]::uuid[],
  actor text not null,
  begun_at timestamp with time zone not null default now()
);
constraint topic_change_kind_check CHECK ((kind = ANY (ARRAY['lanes'::text, 'partitions'::text])));
constraint topic_change_pkey PRIMARY KEY (topic);
constraint topic_change_step_check CHECK ((step = ANY (ARRAY['begun'::text, 'switched'::text])));
constraint topic_change_wanted_check CHECK ((wanted > 0));

create table outbox.transport (
  name text collate "C" not null,
  paused boolean not null default false,
  updated_at timestamp with time zone not null default now()
);
constraint transport_pkey PRIMARY KEY (name);

create view outbox.message_all as
 SELECT v.id,
    v.topic,
    v.lane,
    v."position",
    v.key,
    v.ref,
    v.payload,
    v.content_type,
    v.headers,
    v.state,
    v.workflow_id,
    v.due_at,
    v.workflow_due_at,
    v.attempts,
    v.sends,
    v.last_error,
    v.maybe_published,
    v.partition,
    v."offset",
    v.confirm_by,
    v.created_at,
    v.updated_at,
    v.published_at,
    v.supersedes,
    NULL::timestamp with time zone AS archived_at,
    v.expires_at,
    v.expunged_at
   FROM outbox.message_view v
UNION ALL
 SELECT h.id,
    h.topic,
    h.lane,
    h."position",
    h.key,
    h.ref,
    h.payload,
    h.content_type,
    h.headers,
    h.state,
    h.workflow_id,
    h.due_at,
    h.workflow_due_at,
    h.attempts,
    h.sends,
    h.last_error,
    h.maybe_published,
    h.partition,
    h."offset",
    h.confirm_by,
    h.created_at,
    h.updated_at,
    h.published_at,
    h.supersedes,
    h.archived_at,
    h.expires_at,
    h.expunged_at
   FROM outbox.message_history h
UNION ALL
 SELECT h.id,
    h.topic,
    h.lane,
    h."position",
    h.key,
    (NULL::text COLLATE "C") AS ref,
    h.payload,
    'application/json'::text AS content_type,
    h.headers,
    'published'::outbox.state AS state,
    outbox.lane_workflow_id(h.topic, h.lane) AS workflow_id,
    NULL::timestamp with time zone AS due_at,
    NULL::timestamp with time zone AS workflow_due_at,
    0 AS attempts,
    0 AS sends,
    NULL::text AS last_error,
    h.maybe_published,
    b.partition,
    b."offset",
    NULL::timestamp with time zone AS confirm_by,
    h.created_at,
    h.updated_at,
    COALESCE(h.published_at, b.published_at) AS published_at,
    NULL::uuid AS supersedes,
    ( SELECT f.archived_at
           FROM (outbox.leaf f
             JOIN pg_class c ON ((c.relname = ('log_'::text || (f.n)::text))))
          WHERE (c.oid = h.tableoid)) AS archived_at,
    NULL::timestamp with time zone AS expires_at,
    h.expunged_at
   FROM (outbox.log_history h
     CROSS JOIN LATERAL outbox.batch_facts(h.topic, h.lane, h."position") b(published_at, partition, "offset"));

create view outbox.message_view as
 SELECT m.id,
    m.topic,
    m.lane,
    m."position",
    m.key,
    m.ref,
    m.payload,
    m.content_type,
    m.headers,
        CASE
            WHEN ((m.state = 'ready'::outbox.state) AND outbox.is_passed(l.cursor, l.snapshot, l.late_cursor, l.late_snapshot, m."position", m.xid)) THEN 'published'::outbox.state
            ELSE m.state
        END AS state,
    m.workflow_id,
    m.due_at,
    m.workflow_due_at,
    m.attempts,
    m.sends,
    m.last_error,
    m.maybe_published,
    m.partition,
    m."offset",
    m.confirm_by,
    m.created_at,
    m.updated_at,
    m.published_at,
    m.supersedes,
    m.expires_at,
    m.expunged_at
   FROM (ONLY outbox.message m
     LEFT JOIN outbox.lane l ON (((l.topic = m.topic) AND (l.n = m.lane))))
UNION ALL
 SELECT m.id,
    m.topic,
    m.lane,
    m."position",
    m.key,
    (NULL::text COLLATE "C") AS ref,
    m.payload,
    'application/json'::text AS content_type,
    m.headers,
        CASE
            WHEN outbox.is_passed(l.cursor, l.snapshot, l.late_cursor, l.late_snapshot, m."position", m.xid) THEN 'published'::outbox.state
            ELSE m.state
        END AS state,
    outbox.lane_workflow_id(m.topic, m.lane) AS workflow_id,
    NULL::timestamp with time zone AS due_at,
    NULL::timestamp with time zone AS workflow_due_at,
    0 AS attempts,
    0 AS sends,
    NULL::text AS last_error,
    m.maybe_published,
    NULL::integer AS partition,
    NULL::bigint AS "offset",
    NULL::timestamp with time zone AS confirm_by,
    m.created_at,
    m.updated_at,
    m.published_at,
    NULL::uuid AS supersedes,
    NULL::timestamp with time zone AS expires_at,
    m.expunged_at
   FROM (outbox.log m
     LEFT JOIN outbox.lane l ON (((l.topic = m.topic) AND (l.n = m.lane))))
UNION ALL
 SELECT m.id,
    m.topic,
    m.lane,
    m."position",
    m.key,
    (NULL::text COLLATE "C") AS ref,
    m.payload,
    'application/json'::text AS content_type,
    m.headers,
    'published'::outbox.state AS state,
    outbox.lane_workflow_id(m.topic, m.lane) AS workflow_id,
    NULL::timestamp with time zone AS due_at,
    NULL::timestamp with time zone AS workflow_due_at,
    0 AS attempts,
    0 AS sends,
    NULL::text AS last_error,
    m.maybe_published,
    NULL::integer AS partition,
    NULL::bigint AS "offset",
    NULL::timestamp with time zone AS confirm_by,
    m.created_at,
    m.updated_at,
    m.published_at,
    NULL::uuid AS supersedes,
    NULL::timestamp with time zone AS expires_at,
    m.expunged_at
   FROM (outbox.log_passed m
     LEFT JOIN outbox.lane l ON (((l.topic = m.topic) AND (l.n = m.lane))));

CREATE OR REPLACE FUNCTION outbox.batch_facts(p_topic text, p_lane integer, p_position bigint)
 RETURNS TABLE(published_at timestamp with time zone, partition integer, "offset" bigint)
 LANGUAGE sql
 STABLE
AS $function$
  select case when count(*) = 1::bigint then max(near.published_at) end, case when count(*) = 1::bigint then max(near.partition) end,
    case when count(*) = 1::bigint then max(near."offset") end
  from (
    select b.first_position, b.published_at,
      (select case when count(*) = 1::bigint then max(k)::integer end from jsonb_object_keys(b.partitions) k) as partition,
      case when b.count = 1 then (select e.v ->> 'first'::text from jsonb_each(b.partitions) e (k, v) limit 1)::bigint end as "offset"
    from outbox.batch b where b.topic = p_topic and b.lane = p_lane and b.last_position >= p_position
    order by b.last_position limit 3
  ) near where near.first_position <= p_position
$function$;

CREATE OR REPLACE FUNCTION outbox.begin_epoch_change(p_old outbox.processed_epoch, p_patience_ms integer, p_pause_ms integer)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if p_old.tried_at > clock_timestamp() - p_pause_ms * interval '1 ms' then return null; end if;
  update outbox.processed_epoch e set tries = e.tries + 1, tried_at = clock_timestamp() where e.epoch = p_old.epoch;
  return greatest(p_patience_ms, least(p_patience_ms * 2 ^ least(p_old.tries, 10), 5000));
end
$function$;

CREATE OR REPLACE FUNCTION outbox.begin_try(p_id uuid, p_retry_ms double precision[], p_block boolean, p_max_kills integer, p_worker bigint, p_most integer, p_alone boolean)
 RETURNS SETOF outbox.try_answer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION outbox.blocked(p_topic text, p_lane integer, p_limit integer, p_cursor bigint, p_snapshot pg_snapshot, p_other_cursor bigint, p_other_snapshot pg_snapshot, p_failed_blocks boolean)
 RETURNS SETOF uuid
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.bring_back_key(p_message outbox.parked)
 RETURNS uuid
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION outbox.bury_try(k outbox.parked_key, p_dead boolean, p_max_kills integer, p_block boolean, OUT gave_up text, OUT message_id text)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION outbox.cancel(topic text, ref text DEFAULT NULL::text, id uuid DEFAULT NULL::uuid)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.cancel_key(topic text, key text)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.carry_kept(p_epoch bigint, p_limit integer)
 RETURNS TABLE(carried integer, complete boolean, busy boolean)
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.carry_live(p_epoch bigint, p_limit integer)
 RETURNS TABLE(carried integer, complete boolean, busy boolean)
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.claimable(p_topic text, p_lane integer, p_limit integer, p_cursor bigint, p_snapshot pg_snapshot, p_other_cursor bigint, p_other_snapshot pg_snapshot)
 RETURNS TABLE(id uuid, "position" bigint, xid xid8, key text, payload text, content_type text, headers jsonb, workflow_id text, attempts integer, created_at timestamp with time zone, expires_at timestamp with time zone, sent boolean, due_at timestamp with time zone)
 LANGUAGE sql
 STABLE
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.claimable_in_log(p_topic text, p_lane integer, p_limit integer, p_cursor bigint, p_snapshot pg_snapshot, p_other_cursor bigint, p_other_snapshot pg_snapshot)
 RETURNS TABLE(id uuid, "position" bigint, xid xid8, key text, payload text, content_type text, headers jsonb, workflow_id text, attempts integer, created_at timestamp with time zone)
 LANGUAGE sql
 STABLE
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.clock()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
AS $function$ select now() $function$;

CREATE OR REPLACE FUNCTION outbox.count_queue(p_group text, p_topic text, p_key text, p_most integer)
 RETURNS integer
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
AS $function$
  select count(*)::integer from outbox.parked_key k, lateral (
    select from outbox.parked p where p.key_id = k.id and p.position > k.ended limit p_most) q
  where k.id = (select x.id from outbox.parked_key x
    where x.consumer_group = p_group and x.topic = p_topic and x.key >= p_key and x.key <= p_key order by x.key limit 1)
$function$;

CREATE OR REPLACE FUNCTION outbox.create_epoch(p_epoch bigint)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.create_leaf(p_n bigint)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.current_epoch()
 RETURNS bigint
 LANGUAGE sql
 STABLE
AS $function$ select e.epoch from outbox.processed_epoch e where e.ended_at is null $function$;

CREATE OR REPLACE FUNCTION outbox.deliverer(installation text, topic text, lane integer, id uuid, own boolean)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$ select case when own then installation || '/message/' || id::text else installation || '/lane/' || topic || '/' || lane::text end $function$;

CREATE OR REPLACE FUNCTION outbox.discard_kept(p_group text, p_id text, p_states text[] DEFAULT NULL::text[], p_reason text DEFAULT NULL::text, OUT result text, OUT details jsonb)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION outbox.drop_ended_kept(p_age_ms bigint, p_at timestamp with time zone, p_group text, p_id text, p_limit integer, OUT deleted integer, OUT next_at timestamp with time zone, OUT next_group text, OUT next_id text)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION outbox.drop_failed_kept(p_group text, p_age_ms bigint, p_copied boolean, p_limit integer)
 RETURNS integer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET jit TO 'off'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION outbox.drop_processed(p_epoch bigint, p_patience_ms integer, p_pause_ms integer)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$;
privileges {owner=X/owner}

CREATE OR REPLACE FUNCTION outbox.due_by_expiry()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if new.workflow_due_at = new.due_at then new.workflow_due_at := new.expires_at; end if;
  new.due_at := new.expires_at;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION outbox.due_keys(p_group text, p_after_at timestamp with time zone, p_after_id uuid, p_limit integer)
 RETURNS SETOF outbox.parked_key
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
AS $function$
  select k.* from outbox.parked_key k
  where k.consumer_group = p_group and k.next_at <= outbox.clock() and (k.next_at, k.id) > (p_after_at, p_after_id)
  order by k.next_at, k.id limit p_limit
$function$;

CREATE OR REPLACE FUNCTION outbox.edit_kept(p_group text, p_id text, p_version timestamp with time zone, p_copy text, p_wire text, p_body bytea, OUT result text, OUT details jsonb)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION outbox.end_dead_tries(p_group text, p_worker bigint, p_max_kills integer, p_block boolean)
 RETURNS TABLE(key_id uuid, gave_up text)
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION outbox.end_key(p_id uuid)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
begin
  if exists (select from outbox.parked p where p.key_id = p_id
    and p.position > (select k.ended from outbox.parked_key k where k.id = p_id) limit 1) then return false; end if;
  if exists (select from outbox.parked p where p.key_id = p_id limit 1) then return false; end if;
  perform from outbox.parked_key k where k.id = p_id for update skip locked;
  if not found or exists (select from outbox.parked p where p.key_id = p_id limit 1) then return false; end if;
  delete from outbox.parked_key k where k.id = p_id;
  return true;
end $function$;

CREATE OR REPLACE FUNCTION outbox.end_try(p_id uuid, p_group text, p_ids text[])
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION outbox.epoch_to_carry_to()
 RETURNS bigint
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if not outbox.may_keep_processed() then return null; end if;
  lock table only outbox.processed in row exclusive mode;
  return (select e.epoch from outbox.processed_epoch e where e.ended_at is null);
end
$function$;

CREATE OR REPLACE FUNCTION outbox.exact(length interval)
 RETURNS interval
 LANGUAGE sql
 IMMUTABLE
AS $function$ select make_interval(secs => extract(epoch from length)::float8) $function$;

CREATE OR REPLACE FUNCTION outbox.expiry_of(m jsonb, now_at timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
AS $function$ select coalesce((m ->> 'expiresAt')::timestamptz, now_at + (m ->> 'expiresAfterMs')::float8 * interval '1 ms') $function$;

CREATE OR REPLACE FUNCTION outbox.expiry_refusal(expires timestamp with time zone, due timestamp with time zone)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$ select jsonb_build_object('code', 'OUTBOX_EXPIRY_BEFORE_DUE', 'message', format('The message would expire %s, and be due %s.', expires, due)) $function$;

CREATE OR REPLACE FUNCTION outbox.expunge_kept(p_group text, p_id text, OUT result text, OUT details jsonb)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION outbox.fail_try(p_id uuid, p_group text, p_message_id text, p_attempts integer, p_number integer, p_reason text, p_error text, p_final boolean, p_retry_ms double precision[], p_block boolean)
 RETURNS outbox.try_answer
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION outbox.follow_epochs()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.form_refusal(m jsonb, policy outbox.topic)
 RETURNS jsonb
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.free_blocked(p_topic text, p_lane integer, p_key text, p_failed_blocks boolean)
 RETURNS TABLE("position" bigint)
 LANGUAGE sql
 STABLE
AS $function$
  select f.position from (
    select h.position from only outbox.message h
    where h.topic = p_topic and h.lane = p_lane and h.state = 'blocked' and h.key = p_key order by h.position limit 1) f
  where (select r.position from only outbox.message r
      where r.topic = p_topic and r.lane = p_lane and r.state in ('retrying', 'blocked') and r.state = 'retrying'
        and r.key = p_key and r.position < f.position order by r.position limit 1) is null
    and (not p_failed_blocks or (select r.position from only outbox.message r
      where r.topic = p_topic and r.lane = p_lane and r.state = 'failed' and r.key = p_key and r.position < f.position
      order by r.position limit 1) is null)
$function$;

CREATE OR REPLACE FUNCTION outbox.freed_since(p_topic text, p_lane integer, p_snapshot pg_snapshot)
 RETURNS TABLE(key text, place tid)
 LANGUAGE sql
 STABLE
AS $function$
  select f.key, f.ctid from outbox.freed_key f
  where f.topic = p_topic and f.lane = p_lane and f.xid >= coalesce(pg_snapshot_xmax(p_snapshot), '0'::xid8)
  union all
  select f.key, f.place from pg_snapshot_xip(p_snapshot) running (xid) cross join lateral (
    select r.key, r.ctid as place from outbox.freed_key r where r.topic = p_topic and r.lane = p_lane and r.xid = running.xid offset 0) f
$function$;

CREATE OR REPLACE FUNCTION outbox.give_up(p_group text, p_message_id text, p_reason text, p_error text, p_block boolean)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION outbox.go_on(p_id uuid, p_now boolean)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION outbox.grant_log()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.has_exceptions(p_topic text, p_lane integer, p_cursor bigint, p_snapshot pg_snapshot)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
 SET jit TO 'off'
AS $function$
begin
  return (select m.id from only outbox.message m where m.topic = p_topic and m.lane = p_lane and m.state = 'ready'
      and m.position > 0 and m.position > p_cursor order by m.position limit 1) is not null
    or (select m.id from only outbox.message m where m.topic = p_topic and m.lane = p_lane and m.state = 'ready'
      and m.position + 0 <= p_cursor and m.xid >= pg_snapshot_xmax(p_snapshot) order by m.xid limit 1) is not null
    or exists (select from pg_snapshot_xip(p_snapshot) running (xid) cross join lateral (
      select from only outbox.message m where m.topic = p_topic and m.lane = p_lane and m.state = 'ready'
        and m.xid = running.xid and m.position + 0 <= p_cursor offset 0) m);
end
$function$;

CREATE OR REPLACE FUNCTION outbox.has_work(p_lane outbox.lane)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
 SET jit TO 'off'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.headers_fit(headers jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if headers is null or jsonb_typeof(headers) = 'null' then return true; end if;
  return jsonb_typeof(headers) = 'object' and not exists (
    select from jsonb_each(headers) h
    where jsonb_typeof(h.value) <> 'string' or h.key !~ '^[a-z0-9][a-z0-9_.-]{0,127}$'
      or h.key ~ '^(ce_|outbox-|content-type$)'
        and (h.key <> 'outbox-version' or h.value #>> '{}' !~ '^([1-9][0-9]{0,5}|1000000)$')
        and (h.key <> 'outbox-replay-of' or h.value #>> '{}' !~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'));
end
$function$;

CREATE OR REPLACE FUNCTION outbox.incarnation()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
AS $function$ select greatest(pg_postmaster_start_time(), pg_stat_get_bgwriter_stat_reset_time()) $function$;

CREATE OR REPLACE FUNCTION outbox.instant_of(candidate text)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return candidate::timestamptz;
exception when data_exception then
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION outbox.is_asked_for(p_message outbox.parked, p_states text[], p_reason text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$ select (p_states is null or p_message.state = any (p_states))
  and (p_reason is null or p_message.reason is not distinct from p_reason) $function$;

CREATE OR REPLACE FUNCTION outbox.is_json(candidate text)
 RETURNS boolean
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  return candidate::json is not null;
exception when data_exception or statement_too_complex then
  return false;
end
$function$;

CREATE OR REPLACE FUNCTION outbox.is_open(m outbox.message, p_waiting boolean)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select m.state::text = 'waiting' or not p_waiting and m.state::text in ('retrying', 'blocked') and not m.maybe_published
$function$;

CREATE OR REPLACE FUNCTION outbox.is_passed(p_cursor bigint, p_snapshot pg_snapshot, p_late_cursor bigint, p_late_snapshot pg_snapshot, p_position bigint, p_xid xid8)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select p_position <= p_cursor and coalesce(pg_visible_in_snapshot(p_xid, p_snapshot), false)
    or coalesce(p_position <= p_late_cursor and pg_visible_in_snapshot(p_xid, p_late_snapshot), false)
$function$;

CREATE OR REPLACE FUNCTION outbox.is_paused(p_topic text)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return exists (select from outbox.topic_change c where c.topic = p_topic)
    or coalesce((select t.paused or coalesce(x.paused, false)
      from outbox.topic t left join outbox.transport x on x.name = t.transport where t.name = p_topic), false);
end
$function$;

CREATE OR REPLACE FUNCTION outbox.is_topic_name(name text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$ select name ~ '^[A-Za-z0-9._-]{1,200}$' $function$;

CREATE OR REPLACE FUNCTION outbox.join_try(p_id uuid, p_group text, p_ids text[], p_number integer, p_worker bigint, p_idle_ms integer)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  perform set_config('idle_in_transaction_session_timeout', p_idle_ms::text, true);
  perform pg_try_advisory_lock_shared(p_worker);
  perform from outbox.parked_key k where k.id = p_id and k.tries = p_number for no key update;
  return found and cardinality(p_ids) = (select count(*) from outbox.parked p
    where p.consumer_group = p_group and p.message_id = any(p_ids) and p.key_id = p_id and p.state = 'parked');
end $function$;

CREATE OR REPLACE FUNCTION outbox.lane_may_pass(l outbox.lane, p_cursor bigint, p_snapshot pg_snapshot, p_late_cursor bigint, p_late_snapshot pg_snapshot)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select l.cursor < p_cursor or l.cursor = p_cursor and (l.snapshot is null
    or (pg_snapshot_xmin(coalesce(l.late_snapshot, l.snapshot)), pg_snapshot_xmax(coalesce(l.late_snapshot, l.snapshot)),
        -length(coalesce(l.late_snapshot, l.snapshot)::text), coalesce(l.late_cursor, l.cursor))
      <= (pg_snapshot_xmin(coalesce(p_late_snapshot, p_snapshot)), pg_snapshot_xmax(coalesce(p_late_snapshot, p_snapshot)),
        -length(coalesce(p_late_snapshot, p_snapshot)::text), coalesce(p_late_cursor, p_cursor)))
$function$;

CREATE OR REPLACE FUNCTION outbox.lane_of(key text, id uuid, lanes integer)
 RETURNS integer
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case when lanes = 1 then 0
    else (('x' || substr(md5(coalesce(key, id::text)), 1, 8))::bit(32)::bigint % lanes::bigint)::integer end
$function$;

CREATE OR REPLACE FUNCTION outbox.lane_owned(l outbox.lane, p_owner uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$ select l.owner = p_owner and l.incarnation = outbox.incarnation() $function$;

CREATE OR REPLACE FUNCTION outbox.lane_taken(l outbox.lane)
 RETURNS boolean
 LANGUAGE sql
AS $function$
  select coalesce(l.owner is not null
    and l.incarnation = outbox.incarnation()
    and l.alive_until between clock_timestamp() and clock_timestamp() + interval '20 seconds'
    and (l.session is null or l.alive_until > clock_timestamp() + interval '9.5 seconds' or outbox.session_lives(l.session)
      or outbox.session_here(l.session)), false)
$function$;

CREATE OR REPLACE FUNCTION outbox.lane_workflow_id(topic text, lane integer)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$ select (select i.id::text from outbox.installation i) || '/lane/' || topic || '/' || lane::text $function$;

CREATE OR REPLACE FUNCTION outbox.lanes_of_leaf(p_leaf regclass)
 RETURNS TABLE(topic text, lane integer, "position" bigint, passed boolean)
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET jit TO 'off'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.late_are_dense(p_topic text, p_lane integer, p_limit integer, p_cursor bigint, p_snapshot pg_snapshot, p_late_cursor bigint)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
 SET jit TO 'off'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.lately(p_at timestamp with time zone, p_ms double precision)
 RETURNS boolean
 LANGUAGE sql
AS $function$ select p_at > clock_timestamp() - p_ms * interval '1 ms' and p_at <= clock_timestamp() + p_ms * interval '1 ms' $function$;

CREATE OR REPLACE FUNCTION outbox.limit_idle()
 RETURNS text
 LANGUAGE sql
AS $function$ select outbox.limit_transaction(30000, 30000) || set_config('lock_timeout'::text, '5000'::text, true) $function$;

CREATE OR REPLACE FUNCTION outbox.limit_transaction(p_idle_ms integer, p_limit_ms integer)
 RETURNS text
 LANGUAGE sql
AS $function$
  select set_config('idle_in_transaction_session_timeout'::text, p_idle_ms::text, true)
    || set_config('lock_timeout'::text, p_limit_ms::text, true) || set_config('statement_timeout'::text, p_limit_ms::text, true)
$function$;

CREATE OR REPLACE FUNCTION outbox.lock_kept(p_group text, p_id text, OUT answer text, OUT home uuid, OUT is_first boolean, OUT message outbox.parked)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION outbox.lock_open(p_id uuid, p_topic text, p_waiting boolean)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.look(p_snapshot pg_snapshot, p_from timestamp with time zone)
 RETURNS TABLE(snapshot text, next_due_in_ms double precision, next_from timestamp with time zone, topic text, lane integer, ready boolean, waiting boolean, xids text)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET jit TO 'off'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.mark_processed(p_group text, p_ids text[], p_topics text[])
 RETURNS SETOF text
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET jit TO 'off'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.may_keep_processed()
 RETURNS boolean
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$ select pg_try_advisory_xact_lock(hashtextextended('outbox.processed_epoch', 0)) and outbox.limit_idle() is not null $function$;

CREATE OR REPLACE FUNCTION outbox.message_of_ref(p_topic text, p_ref text)
 RETURNS uuid
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select coalesce(
    (select m.id from only outbox.message m where m.topic = p_topic and m.ref = p_ref
     order by (m.state = 'waiting') desc, m.created_at desc, m.position desc limit 1),
    (select h.id from outbox.message_history h where h.topic = p_topic and h.ref = p_ref
     order by h.created_at desc, h.position desc limit 1))
$function$;

CREATE OR REPLACE FUNCTION outbox.message_workflow_id(id uuid)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$ select (select i.id::text from outbox.installation i) || '/message/' || id::text $function$;

CREATE OR REPLACE FUNCTION outbox.move_due(p_topic text, p_ref text, p_id uuid, p_after interval, p_at timestamp with time zone)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.next_leaf(p_current bigint)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  perform pg_advisory_xact_lock(hashtextextended('outbox.leaf', 0));
  update outbox.leaf set closed_at = outbox.clock() where n = p_current and closed_at is null;
  if not found then return; end if;
  perform ('outbox.log_' || p_current + 1)::regclass;
  insert into outbox.leaf (n, opened_at) values (p_current + 1, outbox.clock());
  perform outbox.grant_log();
  perform outbox.write_store();
end
$function$;

CREATE OR REPLACE FUNCTION outbox.none_left(p_last xid8, p_snapshot pg_snapshot)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$ select pg_visible_in_snapshot(p_last, p_snapshot) is true $function$;

CREATE OR REPLACE FUNCTION outbox.not_yet_known()
 RETURNS xid8
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$ select '18446744073709551615'::xid8 $function$;

CREATE OR REPLACE FUNCTION outbox.note_blocked(p_topic text, p_lane integer, p_ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
 SET jit TO 'off'
AS $function$
begin
  insert into outbox.freed_key (topic, lane, key)
  select p_topic, p_lane, k.key from (
    select distinct m.key, (select t.exhausted = 'block-key' from outbox.topic t where t.name = p_topic) is true as failed_blocks
    from only outbox.message m where m.id = any(p_ids) and m.state::text = 'blocked' and m.key is not null offset 0
  ) k cross join lateral outbox.free_blocked(p_topic, p_lane, k.key, k.failed_blocks);
end
$function$;

CREATE OR REPLACE FUNCTION outbox.note_ended(p_group text, p_ids text[], p_at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET jit TO 'off'
AS $function$
begin
  perform outbox.renew_processed(p_group, p_ids);
  update outbox.processed o set ended_at = p_at where o.consumer_group = p_group and o.message_id = any(p_ids);
end
$function$;

CREATE OR REPLACE FUNCTION outbox.note_expired(p_group text, p_ids text[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET jit TO 'off'
AS $function$
begin
  update outbox.processed o set expired = true where o.consumer_group = p_group and o.message_id = any(p_ids);
end
$function$;

CREATE OR REPLACE FUNCTION outbox.note_failure()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  new.notified := case when new.state = 'failed' then false end;
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION outbox.note_freed()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
AS $function$
begin
  if new.state = 'canceled' or (select h.id from only outbox.message h
    where h.topic = new.topic and h.lane = new.lane and h.state = 'blocked' and h.key = new.key order by h.position limit 1) is not null then
    insert into outbox.freed_key (topic, lane, key) values (new.topic, new.lane, new.key);
  end if;
  return null;
end
$function$;
privileges {owner=X/owner}

CREATE OR REPLACE FUNCTION outbox.older_handlers(p_before xid8)
 RETURNS boolean
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select p_before > pg_snapshot_xmin(pg_current_snapshot()) and exists (
    select from pg_locks looked join pg_locks own on own.virtualtransaction = looked.virtualtransaction
    where looked.locktype = 'relation' and looked.relation = 'outbox.parked_key'::regclass
      and looked.database = (select d.oid from pg_database d where d.datname = current_database())
      and own.locktype = 'transactionid' and own.mode = 'ExclusiveLock'
      and own.transactionid in (select x.id::xid from pg_snapshot_xip(pg_current_snapshot()) x (id) where x.id < p_before))
$function$;

CREATE OR REPLACE FUNCTION outbox.park(p_group text, p_messages jsonb, p_retry_ms double precision DEFAULT NULL::double precision)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION outbox.parked_workflow_id(p_group text, p_id uuid)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$ select (select i.id from outbox.installation i)::text || '/parked/' || p_group || '/' || p_id::text $function$;

CREATE OR REPLACE FUNCTION outbox.pass(p_topic text, p_lane integer, p_owner uuid, p_ctid tid, p_cursor bigint, p_snapshot pg_snapshot, p_lease_ms double precision, p_batch uuid, p_first bigint, p_last bigint, p_count integer, p_partitions jsonb, p_durable boolean, p_late_cursor bigint, p_late_snapshot pg_snapshot, p_blocks boolean, p_unblocked pg_snapshot, p_fails boolean, p_unfailed pg_snapshot)
 RETURNS tid
 LANGUAGE plpgsql
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET jit TO 'off'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.policy(p_topic text)
 RETURNS outbox.topic
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.rate_left(p_topic text, p_at timestamp with time zone, OUT free integer, OUT wait_ms double precision)
 RETURNS record
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.rate_scope(policy outbox.topic)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$ select case when policy.rate_of = 'address' then policy.transport || ' ' || outbox.sha256(policy.address) else policy.name end $function$;

CREATE OR REPLACE FUNCTION outbox.read_processed(p_group text, p_ids text[])
 RETURNS SETOF text
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET jit TO 'off'
AS $function$
begin
  return query
    select n.id from unnest(p_ids) n (id)
    where (select true from outbox.processed o where o.consumer_group = p_group and o.message_id = n.id limit 1);
end
$function$;

CREATE OR REPLACE FUNCTION outbox.receive(p_group text, p_ids text[], p_topics text[], p_keys text[], p_idle_ms integer, p_limit_ms integer)
 RETURNS text[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_sort TO 'off'
 SET jit TO 'off'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION outbox.refusal(m jsonb, policy outbox.topic, due timestamp with time zone, now_at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.refusals(p_messages jsonb, policy outbox.topic, now_at timestamp with time zone)
 RETURNS SETOF outbox.store_result
 LANGUAGE sql
 STABLE
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.refuse(refusal jsonb, n bigint DEFAULT NULL::bigint)
 RETURNS void
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  raise exception 'outbox: %', case when n is null then '' else 'message ' || n || ': ' end || (refusal ->> 'message')
    using errcode = 'OB002', detail = refusal ->> 'code';
end
$function$;

CREATE OR REPLACE FUNCTION outbox.refuse_emptying()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  raise exception 'outbox: % must keep its rows', tg_relid::regclass
    using errcode = 'OB004', hint = 'Exclude the schema outbox from what empties tables, such as the cleaner of a test suite.';
end
$function$;

CREATE OR REPLACE FUNCTION outbox.refuse_ended_epoch()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  raise exception 'outbox: the epoch % of processed ids has ended since this transaction began', new.epoch
    using errcode = 'serialization_failure', hint = 'Run the transaction again.';
end
$function$;

CREATE OR REPLACE FUNCTION outbox.refuse_in_log()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  raise exception 'outbox: a message of the log cannot become %', new.state
    using errcode = 'OB001', detail = 'message ' || new.id, hint = 'outbox.take_out moves it to outbox.message first.';
end
$function$;

CREATE OR REPLACE FUNCTION outbox.refuse_insert()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  raise exception 'outbox: a message cannot begin as %', new.state using errcode = 'OB001', detail = 'message ' || new.id;
end
$function$;

CREATE OR REPLACE FUNCTION outbox.refuse_transition()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  raise exception 'outbox: % cannot become %', old.state, new.state
    using errcode = 'OB001', detail = 'message ' || coalesce(to_jsonb(new) ->> 'message_id', to_jsonb(new) ->> 'id'),
      hint = 'The legal transitions are listed in docs/states.md.';
end
$function$;

CREATE OR REPLACE FUNCTION outbox.refuse_without_epoch()
 RETURNS void
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
begin
  if row_security_active('outbox.processed_epoch') then
    raise exception 'row-level security hides the rows of outbox.processed_epoch' using errcode = '42501';
  end if;
  raise exception 'outbox: outbox.processed_epoch is empty' using errcode = 'OB004',
    hint = 'Exclude the schema outbox from what empties tables, such as the cleaner of a test suite.';
end
$function$;

CREATE OR REPLACE FUNCTION outbox.release_blocked(p_topic text, p_lane integer, p_failed_blocks boolean, p_after text, p_keys integer, p_rows integer, p_ctid tid)
 RETURNS TABLE(freed boolean, released integer, next text, row_ctid tid)
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
 SET jit TO 'off'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.release_due(p_ids uuid[])
 RETURNS TABLE(lanes text[])
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_sort TO 'off'
 SET jit TO 'off'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.release_locked(p_due outbox.due_message[])
 RETURNS TABLE(locked integer, released integer, last_due timestamp with time zone, lanes text[], topics text[], keys text[])
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_sort TO 'off'
 SET jit TO 'off'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.renew_processed(p_group text, p_ids text[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET jit TO 'off'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.replace_waiting(p_topic text, m jsonb, p_due timestamp with time zone, p_now timestamp with time zone)
 RETURNS outbox.store_result
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.replaced_due(p_before timestamp with time zone, p_given timestamp with time zone, p_limit timestamp with time zone, p_now timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE sql
 IMMUTABLE
AS $function$ select least(greatest(p_given, p_now), greatest(p_limit, case when p_limit is not null then least(p_before, p_now) end)) $function$;

CREATE OR REPLACE FUNCTION outbox.require_handle(topic text, ref text, id uuid)
 RETURNS void
 LANGUAGE plpgsql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.reschedule(topic text, ref text DEFAULT NULL::text, id uuid DEFAULT NULL::uuid, after interval DEFAULT NULL::interval, at timestamp with time zone DEFAULT NULL::timestamp with time zone)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.resolve_conflicts(p_topic text, p_messages jsonb, p_results outbox.store_result[])
 RETURNS outbox.store_result[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.retry_kept(p_group text, p_id text, p_states text[] DEFAULT NULL::text[], p_reason text DEFAULT NULL::text, OUT result text, OUT details jsonb)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION outbox.retry_kept_in_order(p_group text, p_ids text[], p_states text[] DEFAULT NULL::text[], p_reason text DEFAULT NULL::text)
 RETURNS TABLE(id text, result text, details jsonb)
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION outbox.return_try(p_id uuid, p_group text, p_number integer, p_in_ms double precision)
 RETURNS boolean
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
end $function$;

CREATE OR REPLACE FUNCTION outbox.roll_processed(p_epoch_ms bigint, p_patience_ms integer, p_pause_ms integer)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$;
privileges {owner=X/owner}

CREATE OR REPLACE FUNCTION outbox.seal_audit()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  last outbox.audit_seal;
begin
  perform pg_advisory_xact_lock(hashtextextended('outbox.audit_seal', 0));
  select * into last from outbox.audit_seal s order by s.position desc limit 1;
  insert into outbox.audit_seal (position, audit_id, hash) values
    (coalesce(last.position, 0) + 1, new.id, outbox.sha256(coalesce(last.hash, '') || outbox.sealed_text(new)));
  return null;
end
$function$;
privileges {owner=X/owner}

CREATE OR REPLACE FUNCTION outbox.sealed_text(a outbox.audit)
 RETURNS text
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select jsonb_build_array(a.id, extract(epoch from a.at), a.actor, a.action, a.topic, a.message_id, a.consumer_group, a.inbox_id,
    a.bulk_id, a.result, a.reason, a.details)::text
$function$;

CREATE OR REPLACE FUNCTION outbox.send(topic text, payload text, key text DEFAULT NULL::text, after interval DEFAULT NULL::interval, at timestamp with time zone DEFAULT NULL::timestamp with time zone, ref text DEFAULT NULL::text, headers jsonb DEFAULT NULL::jsonb, id uuid DEFAULT NULL::uuid, replace boolean DEFAULT false, expires_after interval DEFAULT NULL::interval, expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, keep_due boolean DEFAULT false, at_most interval DEFAULT NULL::interval)
 RETURNS outbox.stored
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.send_batch(topic text, messages jsonb)
 RETURNS SETOF outbox.stored
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.session_here(p_session bigint)
 RETURNS boolean
 LANGUAGE sql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select exists (select from pg_locks l where l.pid = pg_backend_pid() and l.locktype = 'advisory' and l.mode = 'ExclusiveLock'
    and l.objsubid = 1 and (l.classid::bigint << 32 | l.objid::bigint) = p_session)
$function$;

CREATE OR REPLACE FUNCTION outbox.session_lives(p_session bigint)
 RETURNS boolean
 LANGUAGE sql
AS $function$ select not pg_try_advisory_xact_lock_shared(p_session) $function$;

CREATE OR REPLACE FUNCTION outbox.sha256(content text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$ select encode(sha256(convert_to(content, 'UTF8'::name)), 'hex'::text) $function$;

CREATE OR REPLACE FUNCTION outbox.store(p_topic text, p_messages jsonb, policy outbox.topic DEFAULT NULL::outbox.topic)
 RETURNS SETOF outbox.store_result
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.store_as_json(p_topic text, p_messages jsonb)
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
declare
  policy outbox.topic := outbox.policy(p_topic);
begin
  return (select json_agg(json_build_array(r.n, r.id, r.workflow_id, r.state, floor(extract(epoch from r.due_at) * 1000), r.duplicate,
      r.refusal, policy.transport is null) order by r.n)
    from outbox.store(p_topic, p_messages, policy) r);
end
$function$;

CREATE OR REPLACE FUNCTION outbox.sweep(p_punctual text[], p_limit integer, p_grace interval, p_from timestamp with time zone)
 RETURNS TABLE(released integer, next_from timestamp with time zone, lanes text[])
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.sweep_part(p_punctual text[], p_limit integer, p_grace interval, p_from timestamp with time zone, p_without_topics text[], p_without_keys text[])
 RETURNS TABLE(locked integer, released integer, last_due timestamp with time zone, lanes text[], topics text[], keys text[])
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_sort TO 'off'
 SET jit TO 'off'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.take_back_archived(p_results outbox.store_result[], p_given uuid[])
 RETURNS outbox.store_result[]
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.take_out(p_ids uuid[])
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET jit TO 'off'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.take_rate(p_topic text, p_most integer, OUT granted integer, OUT wait_ms double precision)
 RETURNS record
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.topics_of(p_topic text, p_transport text)
 RETURNS SETOF text
 LANGUAGE sql
 STABLE
AS $function$ select t.name from outbox.topic t where t.name = p_topic or t.transport = p_transport $function$;

CREATE OR REPLACE FUNCTION outbox.untold_messages(p_limit integer, p_without uuid[], p_from timestamp with time zone)
 RETURNS TABLE(id uuid, workflow_id text, topic text, key text, ref text, due_at timestamp with time zone, due_in_ms double precision, replace boolean, visible boolean)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
 SET jit TO 'off'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.uuid_v7()
 RETURNS uuid
 LANGUAGE sql
AS $function$
  select encode(
    set_bit(set_bit(
      overlay(uuid_send(gen_random_uuid())
        placing substring(int8send((extract(epoch from clock_timestamp()) * 1000::numeric)::bigint) from 3) from 1 for 6),
      52, 1), 53, 1),
    'hex'::text)::uuid
$function$;

CREATE OR REPLACE FUNCTION outbox.visible_since(p_snapshot pg_snapshot, p_limit integer)
 RETURNS TABLE(id uuid, topic text, lane integer, "position" bigint, xid xid8, key text, ref text, state outbox.state, workflow_id text, due_at timestamp with time zone, attempts integer, last_error text, created_at timestamp with time zone, updated_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET jit TO 'off'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.waiting_of_key(p_topic text, p_key text, p_due timestamp with time zone, p_position bigint)
 RETURNS TABLE(id uuid, due_at timestamp with time zone, "position" bigint)
 LANGUAGE sql
 STABLE
AS $function$
  select w.id, case when w.state = 'waiting' then w.due_at end, w.position from only outbox.message w
  where w.topic = p_topic and w.key = p_key and w.lane >= 0 and w.state in ('waiting', 'retrying', 'blocked')
    and (case when w.state = 'waiting' then w.due_at end, w.position) <= (p_due, p_position)
$function$;

CREATE OR REPLACE FUNCTION outbox.walk_blocked(p_topic text, p_lane integer, p_key text, p_keys integer)
 RETURNS TABLE(topic text, lane integer, key text)
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
 SET jit TO 'off'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.want_lanes(p_topics text[], p_orphans boolean, p_stuck interval, p_soon interval, p_soon_limit integer, p_quiet_topics text[], p_quiet_lanes integer[])
 RETURNS TABLE(topic text, lane integer, replace boolean, quiet boolean)
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET plan_cache_mode TO 'force_generic_plan'
 SET enable_seqscan TO 'off'
 SET enable_bitmapscan TO 'off'
 SET enable_sort TO 'off'
 SET jit TO 'off'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION outbox.wire_expired(p_wire text)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$ select coalesce(outbox.instant_of(substring(p_wire
  from '[{,]"ce_expirytime":"([0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9:.]{5,18}(?:[Zz]|[+-][0-9]{2}:[0-9]{2}))"')) <= outbox.clock(), false) $function$;

CREATE OR REPLACE FUNCTION outbox.with_chosen_id(headers jsonb)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$ select coalesce(nullif(headers, 'null'::jsonb), '{}'::jsonb) || '{"outbox-id": "chosen"}'::jsonb $function$;

CREATE OR REPLACE FUNCTION outbox.worker_died(p_worker bigint)
 RETURNS boolean
 LANGUAGE sql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $function$
  select case when exists (select from pg_locks l where l.pid = pg_backend_pid() and l.locktype = 'advisory'
      and l.mode = 'ShareLock' and l.objsubid = 1 and (l.classid::bigint << 32 | l.objid::bigint) = p_worker) then false
    else pg_try_advisory_xact_lock(p_worker) end
$function$;

CREATE OR REPLACE FUNCTION outbox.write_claim()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $functionx$
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
$functionx$;

CREATE OR REPLACE FUNCTION outbox.write_receive_one(p_epoch bigint)
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $functionx$
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
$functionx$;

CREATE OR REPLACE FUNCTION outbox.write_store()
 RETURNS void
 LANGUAGE plpgsql
 SET search_path TO 'pg_catalog', 'pg_temp'
AS $functionx$
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
$functionx$;
