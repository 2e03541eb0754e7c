-- Lets status tell which addresses the breakers of consumers pause.
-- Locks: no table that exists.

-- One row per address that the breaker of a running consumer pauses. That consumer writes it every two seconds and deletes
-- it at the end of the pause; one that it has not written for six seconds says nothing any more, because its consumer died.
create table outbox.breaker (
  consumer_group text not null,
  address        text not null,
  -- One life of a consumer.
  consumer       uuid not null,
  host           text not null,
  pid            integer not null,
  paused_at      timestamptz not null,
  -- Of so many keys that were looked at, so many had failed when the pause began.
  failed_keys    integer not null,
  keys           integer not null,
  -- Those that have failed since.
  probes         integer not null,
  next_probe_at  timestamptz not null,
  -- Of the last message that failed, without values of its payload.
  error          text not null,
  seen_at        timestamptz not null default clock_timestamp(),
  primary key (consumer_group, address, consumer)
);
