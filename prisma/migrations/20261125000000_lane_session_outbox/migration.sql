-- Ties a lane to the life of the server in which it was taken, so that an owner's progress never outlives a failover or a
-- crash, and to a database session of its owner's process, so that a process that died frees its lanes at once.
-- Locks: "outbox.lane" for the moment of adding two columns, which rewrites nothing. Stop relays of the version before: they
-- write neither column, so their claims answer that the lane is not theirs.

alter table outbox.lane
  -- The life of the server in which the owner took the lane.
  add column incarnation timestamptz,
  -- Key of the advisory lock that the session of the owner's process holds; null: it has none, its lease alone counts.
  add column session bigint;

-- The life of this server: another one after every start, failover and crash. All statistics begin anew when a crash has
-- ended every session without ending the server.
create function outbox.incarnation() returns timestamptz language sql stable
as $$ select greatest(pg_postmaster_start_time(), pg_stat_get_bgwriter_stat_reset_time()) $$;

-- True while somebody holds the advisory lock of this key, that is: while the session that took it is there. Nobody else
-- ever takes it; the shared lock that proves the opposite ends with the transaction that asks.
create function outbox.session_lives(p_session bigint) returns boolean language sql volatile
as $$ select not pg_try_advisory_xact_lock_shared(p_session) $$;

-- True when the lane is this owner's to claim from and to settle.
--
-- A new primary may lack the last commits of the old one, and a server may forget some in a crash. Positions and
-- transaction ids are given out again then, and an owner that went on would pass the messages that got them.
create function outbox.lane_owned(l outbox.lane, p_owner uuid) returns boolean language sql stable
as $$ select l.owner = p_owner and l.incarnation = outbox.incarnation() $$;

-- True while somebody has the lane; what a dead owner leaves is free.
--
-- A lease lasts ten seconds (src/store/lease.ts). One that ends later than that was given before the clock was set back.
-- Whoever lost a session may be back in a moment: for half a second after the last renewal nobody else takes the lane.
create function outbox.lane_held(l outbox.lane) returns boolean language sql volatile
as $$
  select coalesce(l.owner is not null
    and l.incarnation = outbox.incarnation()
    and l.alive_until between clock_timestamp() and clock_timestamp() + interval '20 seconds'
    and (l.session is null or l.alive_until > clock_timestamp() + interval '9.5 seconds' or outbox.session_lives(l.session)), false)
$$;
