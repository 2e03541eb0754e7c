import type { Lane } from '../../core/lane.ts';
import type { Sql } from '../database/database.ts';

/** A lane with a message in the live table that the archive should have moved. */
export interface ArchiveFacts extends Lane {
  /** Milliseconds since then. */
  readonly lateMs: number;
}

/** An owner that died longer ago than this no longer keeps messages from the archive. */
const suspectMs = 24 * 60 * 60_000;

/**
 * Lanes whose first passed message is in the live table for longer than the archive leaves it there: since its batch was
 * published, or since it was changed. The first one alone is looked at, because the archive goes by position.
 */
export async function readArchiveFacts(sql: Sql, archiveAfterMs: number): Promise<readonly ArchiveFacts[]> {
  return sql.query<ArchiveFacts>(
    `select l.topic, l.n as lane,
       (extract(epoch from outbox.clock() - greatest(m.updated_at, b.published_at)) * 1000 - $1)::float8 as "lateMs"
     from outbox.lane l cross join lateral (
       select m.position, m.updated_at from only outbox.message m
       where m.topic = l.topic and m.lane = l.n and m.state = 'ready' and m.position > 0 and m.position <= l.cursor
         and outbox.is_passed(l.cursor, l.snapshot, l.late_cursor, l.late_snapshot, m.position, m.xid)
       order by m.position limit 1) m
     left join lateral (
       select b.published_at from outbox.batch b
       where b.topic = l.topic and b.lane = l.n and b.last_position >= m.position order by b.last_position limit 1) b on true
     where greatest(m.updated_at, b.published_at) < outbox.clock() - $1 * interval '1 ms'
     order by 3 desc`,
    [Math.max(archiveAfterMs, suspectMs)],
  );
}

/** A leaf of the log that was closed, and that claims still read. */
export interface LeafFacts {
  /** Name of its table. */
  readonly name: string;
  readonly closedMs: number;
  /** Transactions from before it was closed, which may write to it: their number. */
  readonly open: number;
  /** A lane that has not passed it, as `topic/lane`; `null`: all have. */
  readonly behind: string | null;
}

/** The closed leaves that claims still read, the oldest first. */
export async function readLeafFacts(sql: Sql): Promise<readonly LeafFacts[]> {
  return sql.query<LeafFacts>(
    `select 'log_' || f.n as name, (extract(epoch from outbox.clock() - f.closed_at) * 1000)::float8 as "closedMs",
       coalesce(cardinality(f.running), 0) as open,
       (select s.topic || '/' || s.lane from outbox.lanes_of_leaf(('outbox.log_' || f.n)::regclass) s
        where not s.passed order by 1 limit 1) as behind
     from outbox.leaf f where f.closed_at is not null and f.messages is null order by f.n`,
  );
}
