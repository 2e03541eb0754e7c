-- Ended messages of consumers go after the window, and failed ones without a copy are found without a walk past the others.
-- Locks: outbox.parked against writers, while two indexes over its rows are built. All other objects are functions.

create index parked_ended on outbox.parked (updated_at, consumer_group, message_id) where state in ('superseded', 'discarded');
create index parked_uncopied on outbox.parked (consumer_group, position) where state = 'failed' and copied_at is null;

-- Deletes ended messages of a consumer to which nothing happened for so long, from a place in their order on; answers the
-- place up to which it came, or nulls when it came to the end. The original of a message that is still open stays with it,
-- and so does for now what somebody has locked.
create function outbox.drop_ended_kept(
  p_age_ms bigint, p_at timestamptz, p_group text, p_id text, p_limit integer,
  out deleted integer, out next_at timestamptz, out next_group text, out next_id text
) language plpgsql
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
    returning 1
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
