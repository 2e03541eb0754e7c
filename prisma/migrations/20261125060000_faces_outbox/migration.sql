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
