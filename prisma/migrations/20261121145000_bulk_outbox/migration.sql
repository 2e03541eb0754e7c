-- Changes of many messages at once: chosen by a filter, carried out page by page by a workflow.
-- Locks: adds a nullable column to outbox.audit, briefly; whoever writes to the audit waits while its index is built,
-- which reads the audit once (no entry is in it at first).

create table outbox.bulk_operation (
  id              uuid primary key,
  action          text not null check (action in ('cancel', 'discard', 'reschedule', 'retry', 'withdraw')),
  -- As operations take it, with its states named and its times in UTC. Never empty.
  filter          jsonb not null check (jsonb_typeof(filter) = 'object' and filter <> '{}'),
  -- For reschedule: {"afterMs": n}, {"at": "<time>"} or {"shiftMs": n}; else {}.
  arguments       jsonb not null,
  actor           text not null,
  reason          text not null,
  rate_per_second integer not null check (rate_per_second between 1 and 10000),
  state           text not null check (state in ('running', 'paused', 'aborted', 'done', 'failed')),
  -- Messages made later than this are not in the selection.
  selected_until  timestamptz not null,
  -- Counted at the start; inexact: at least so many.
  total           integer not null,
  total_exact     boolean not null,
  -- How far the walk by position and id has come, and whether it has come to its end.
  walked_position bigint not null,
  walked_id       uuid not null,
  walked          boolean not null,
  -- Chosen, and not answered yet: others have them locked, or a withdrawal is under way.
  pending         uuid[] not null,
  -- Since when nothing but these is tried.
  pending_since   timestamptz,
  -- How many messages had which answer.
  counts          jsonb not null,
  -- Keeps to the rate, whoever runs the pages.
  next_page_at    timestamptz not null,
  -- Pages in a row that ended with an error, and the last of these errors.
  failures        integer not null,
  last_error      text,
  -- When its workflow was last started. Null: never. '-infinity': it sleeps too long and is to be replaced.
  told_at         timestamptz,
  created_at      timestamptz not null default now(),
  updated_at      timestamptz not null default now(),
  finished_at     timestamptz
);
create index bulk_operation_created on outbox.bulk_operation (created_at, id);
create index bulk_operation_running on outbox.bulk_operation (created_at) where state = 'running';

-- On behalf of which bulk operation something was done. One entry per message and operation: what a crash repeats, or
-- two runners do at once, is refused by the index and rolled back with its entry.
alter table outbox.audit add column bulk_id uuid;
create unique index audit_bulk on outbox.audit (bulk_id, message_id) where bulk_id is not null;
