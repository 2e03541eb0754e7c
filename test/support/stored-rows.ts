import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { type Topic, topic } from '../../src/index.ts';
import type { Database } from '../../src/store/database.ts';

/** A topic that no other test uses; with options, a row of its own as a relay would write it. */
export async function freshTopic(
  database: Database,
  row: { readonly lanes?: number; readonly waits?: string } = {},
): Promise<Topic> {
  const name = `t-${randomUUID()}`;
  if (row.lanes !== undefined || row.waits !== undefined) {
    await database.query(
      `insert into outbox.topic (name, transport, address, retry_ms, lanes, waits) values ($1, 'kafka', $1, '{}', $2, $3)`,
      [name, row.lanes ?? 1, row.waits ?? 'workflow'],
    );
  }
  return topic(name, z.unknown());
}

/** A message as it stands in its table. */
export interface StoredRow {
  readonly id: string;
  readonly key: string | null;
  readonly lane: number;
  readonly position: string;
  readonly payload: string;
  readonly state: string;
  readonly workflow_id: string;
  readonly headers: unknown;
  readonly due_at: Date | null;
}

/** All messages of a topic, in the order of their positions. */
export async function storedRows(database: Database, topicName: string): Promise<readonly StoredRow[]> {
  return database.query<StoredRow>('select * from outbox.message where topic = $1 order by position', [
    topicName,
  ]);
}
