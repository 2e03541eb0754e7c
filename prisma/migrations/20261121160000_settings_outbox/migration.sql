-- Keeps the limits and durations with which relays were last started, so that they can be looked up.
-- Locks: nothing; the table is new.

create table outbox.setting (
  name       text collate "C" primary key,
  -- In words, for example "60 s" or "2000 messages".
  value      text not null,
  updated_at timestamptz not null default now()
);
