import type { Sql } from '../database/database.ts';

/** How far a group's inbox has come. */
export interface LastHandled {
  /** Name of the consumer group. */
  readonly group: string;
  /** When it last stored a processed id, on the database's clock. */
  readonly lastHandledAt: Date;
}

/** How far each group with processed ids has come; reads the ids of the last two epochs, which has no index by time. */
export async function readLastHandled(sql: Sql): Promise<readonly LastHandled[]> {
  return sql.query<LastHandled>(
    `select consumer_group as "group", max(processed_at) as "lastHandledAt" from outbox.processed
     where epoch >= (select max(e.epoch) - 1 from outbox.processed_epoch e) group by 1 order by 1`,
  );
}
