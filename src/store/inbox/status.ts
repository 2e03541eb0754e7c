import type { Sql } from '../database/database.ts';
import { keepingGroups } from './keeping-groups.ts';

/** State of a consumer group, as far as this database knows. */
export interface GroupStatus {
  /** Name of the consumer group. */
  readonly group: string;
  /** Messages that wait for a try, or behind one that does; counting stops at 100,000. */
  readonly parked: number;
  /** Milliseconds since the oldest of them arrived or, if it had failed, was retried; `null`: none is parked. */
  readonly oldestParkedMs: number | null;
  /** Keys with a queue of parked messages; counting stops like that of `parked`. */
  readonly parkedKeys: number;
  /** Keys that wait for a person, because a failed message blocks them; counted on their own, as far as `parked`. */
  readonly blockedKeys: number;
  /** Messages that wait for a person. */
  readonly failed: number;
  /** Milliseconds since the oldest of them arrived; `null`: none is failed. */
  readonly oldestFailedMs: number | null;
  /** How long processed ids are kept, in milliseconds; `null`: forever. */
  readonly windowMs: number | null;
  /** Milliseconds since a consumer of the group was last seen; `null`: never. */
  readonly seenMs: number | null;
}

/** Counting stops here, so that a status never takes long. */
const countLimit = 100_000;

/**
 * All groups that have consumed, or keep, messages; by name.
 *
 * @param countingTo where counting stops, for those who ask often
 */
export async function readGroups(sql: Sql, countingTo = countLimit): Promise<readonly GroupStatus[]> {
  return sql.query<GroupStatus>(
    `with recursive ${keepingGroups}, names as (
       select name from keeping where name is not null union select consumer_group from outbox.consumer_group
         -- The row of the retention, for all groups together.
         where consumer_group <> ''
     )
     select n.name as "group", p.count as parked,
       (extract(epoch from outbox.clock() - least(p.oldest, greatest(kept.arrived_at, kept.queued_at), b.oldest)) * 1000)::float8 as "oldestParkedMs",
       k.count as "parkedKeys", b.count as "blockedKeys",
       f.count as failed, f.oldest as "oldestFailedMs", g.window_ms::float8 as "windowMs",
       -- Consumers note the row of their group every few minutes, and their own every few seconds.
       (extract(epoch from least(outbox.clock() - g.seen_at,
         (select min(clock_timestamp() - c.seen_at) from outbox.consumer c where c.consumer_group = n.name))) * 1000)::float8 as "seenMs"
     from names n
       left join outbox.consumer_group g on g.consumer_group = n.name
       cross join lateral (
         select count(*)::integer as count, min(x.since) as oldest
         -- A message that had failed outside of a queue is in one only since it was retried.
         from (select greatest(p.arrived_at, k.parked_at) as since
           from outbox.parked_key k join outbox.parked p on p.key_id = k.id and p.state = 'parked'
           where k.consumer_group = n.name limit $1) x) p
       -- Where counting stops, the oldest may be left out: messages are kept in the order in which they arrived.
       left join lateral (
         select x.arrived_at, (select k.parked_at from outbox.parked_key k where k.id = x.key_id) as queued_at
         from (select l.state, l.position, l.arrived_at, l.key_id from outbox.parked l where l.consumer_group = n.name
           order by l.position limit $1) x
         where x.state = 'parked' order by x.position limit 1) kept on true
       cross join lateral (
         select count(*)::integer as count from (select from outbox.parked_key k where k.consumer_group = n.name limit $1) x) k
       -- A message behind a blocked key waits for as long as a person does, whatever was kept before it.
       cross join lateral (
         select count(*)::integer as count, min(x.arrived_at) as oldest
         from (select (select q.arrived_at from outbox.parked q where q.key_id = k.id and q.position > k.ended and q.state = 'parked'
             order by q.position limit 1) as arrived_at
           from outbox.parked_key k where k.consumer_group = n.name and k.next_at = 'infinity' limit $1) x) b
       cross join lateral (
         select count(*)::integer as count, (extract(epoch from outbox.clock() - min(x.arrived_at)) * 1000)::float8 as oldest
         from (select p.arrived_at from outbox.parked p where p.consumer_group = n.name and p.state = 'failed'
           order by p.position limit $1) x) f
     order by 1`,
    [countingTo],
  );
}
