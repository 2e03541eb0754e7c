-- Failed messages of a group that asks for it go after a time, the oldest first, in pages.
-- Locks: outbox.parked against writers, while an index over its failed rows is built. The other object is a function.

create index parked_failed_ended on outbox.parked (consumer_group, updated_at) where state = 'failed' and key_id is null;

-- Deletes failed messages of a group to which nothing happened for so long, and answers how many. What holds its key stays,
-- what has no copy among the dead letters where these are asked for, and for now what somebody has locked.
create function outbox.drop_failed_kept(p_group text, p_age_ms bigint, p_copied boolean, p_limit integer) returns integer
language plpgsql
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
  )
  delete from outbox.parked k using old o where k.consumer_group = o.consumer_group and k.message_id = o.message_id;
  get diagnostics v_deleted = row_count;
  return v_deleted;
end $$;
