import type { Sql } from '../database/database.ts';
import type { PartitionRanges } from '../lane/settle.ts';

/** Where the broker has a message that its lane has passed. */
export interface ShownDelivery {
  /** When its batch was settled, on the database's clock. */
  readonly publishedAt: Date;
  /** By partition: the first offset of the batch, and the number of its messages there. */
  readonly partitions: PartitionRanges;
  /** `null` if only the batch is certain. */
  readonly exact: { readonly partition: number; readonly offset: string } | null;
}

/** Number of batches that are read on either side of the message's position. */
const batchLimit = 1_000;

/**
 * The batch of a message that was passed, and the message's offset by its rank, if that is certain: the whole batch went to
 * one partition, no other batch overlaps its range, and there are as many published rows as were counted.
 */
export async function readDelivery(sql: Sql, id: string): Promise<ShownDelivery | undefined> {
  const [row] = await sql.query<{
    publishedAt: Date;
    partitions: PartitionRanges;
    count: number;
    alone: boolean;
    rank: number;
    rows: number;
  }>(
    `with message as materialized (
       select v.topic, v.lane, v.position from outbox.message_view v where v.id = $1 and v.state::text in ('published', 'confirmed')
     ), batch as materialized (
       select near.* from message m cross join lateral (
         select * from outbox.batch b where b.topic = m.topic and b.lane = m.lane and b.last_position >= m.position
         order by b.last_position limit ${batchLimit}) near
       where near.first_position <= m.position order by near.published_at limit 1
     ), published as (
       select r.position from batch b cross join lateral (
         (select m.position from outbox.message m join outbox.lane l on l.topic = m.topic and l.n = m.lane
          where m.topic = b.topic and m.lane = b.lane and m.state = 'ready' and m.position > 0
            and m.position between b.first_position and b.last_position
            and outbox.is_passed(l.cursor, l.snapshot, l.late_cursor, l.late_snapshot, m.position, m.xid)
          order by m.position limit b.count + 1)
         union all
         (select m.position from only outbox.message m
          where m.topic = b.topic and m.lane = b.lane and m.state in ('published', 'confirmed') and m.state <> 'ready' and m.position > 0
            and m.position between b.first_position and b.last_position
          order by m.position limit b.count + 1)) r
     )
     select b.published_at as "publishedAt", b.partitions, b.count,
       not exists (select from (
         select o.id, o.first_position from outbox.batch o
         where o.topic = b.topic and o.lane = b.lane and o.last_position >= b.first_position
         order by o.last_position limit ${batchLimit}) o
         where o.id <> b.id and o.first_position <= b.last_position) as alone,
       (select count(*)::integer from published p where p.position < m.position) as rank,
       (select count(*)::integer from published) as rows
     from batch b cross join message m`,
    [id],
  );
  if (row === undefined) return undefined;
  const { publishedAt, partitions, count, alone, rank, rows } = row;
  const [only, ...others] = Object.entries(partitions);
  const isCertain = alone && rows === count && others.length === 0 && only?.[1].count === count;
  const exact =
    isCertain && only !== undefined
      ? { partition: Number(only[0]), offset: String(BigInt(only[1].first) + BigInt(rank)) }
      : null;
  return { publishedAt, partitions, exact };
}
