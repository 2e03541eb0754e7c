-- Due keys are walked through in the order of an index, page by page. With statistics of before a burst, PostgreSQL 15 found
-- and sorted all of them for each page.
-- Locks: outbox.parked_key entirely, while the index over it is built; consumers wait.

drop index outbox.parked_key_next;
create index parked_key_next on outbox.parked_key (consumer_group, next_at, id);

-- The next due keys of a group behind a place in their order.
create function outbox.due_keys(p_group text, p_after_at timestamptz, p_after_id uuid, p_limit integer)
returns setof outbox.parked_key language sql stable
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
  select k.* from outbox.parked_key k
  where k.consumer_group = p_group and k.next_at <= outbox.clock() and (k.next_at, k.id) > (p_after_at, p_after_id)
  order by k.next_at, k.id limit p_limit
$$;
