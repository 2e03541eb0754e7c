import type { Author } from '../audit/audit.ts';
import type { Database } from '../database/database.ts';
import { endChange, holdChange, type TopicChange } from './lanes-change.ts';

/** Pins the new number of partitions of a topic that is not being delivered, and resumes its delivery. */
export async function pinNewPartitions(database: Database, change: TopicChange, by: Author): Promise<void> {
  await database.transaction(async (sql) => {
    await holdChange(sql, change);
    await sql.query('update outbox.topic set partitions = $2, updated_at = now() where name = $1', [
      change.topic,
      change.wanted,
    ]);
    await endChange(sql, change, by);
  });
}
