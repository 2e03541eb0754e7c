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
       select m.position, m.updated_at from outbox.message m
       where m.topic = l.topic and m.lane = l.n and m.state = 'ready' and m.position > 0 and m.position <= l.cursor
         and pg_visible_in_snapshot(m.xid, l.snapshot)
       order by m.position limit 1) m
     left join lateral (
       select b.published_at from outbox.batch b
       where b.topic = l.topic and b.lane = l.n and b.last_position >= m.position order by b.last_position limit 1) b on true
     where greatest(m.updated_at, b.published_at) < outbox.clock() - $1 * interval '1 ms'
     order by 3 desc`,
    [Math.max(archiveAfterMs, suspectMs)],
  );
}
