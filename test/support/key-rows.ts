import type { Database } from '../../src/store/database.ts';
import { untoldKeys } from '../../src/store/inbox/parked-keys.ts';
import { createTestDatabase } from './database.ts';

interface TestEnd {
  readonly onTestFinished: (work: () => Promise<void>) => void;
}

/** A database with parked keys, which have no messages. */
export interface KeyRows {
  readonly database: Database;
  /** Parks keys that are due in so many milliseconds and were told so long ago; null: never. Answers their ids. */
  park(count: number, dueInMs: number, toldAgoMs?: number | null, group?: string): Promise<readonly string[]>;
  /** Ids of the keys of the group `shop` that were never told. */
  untold(): Promise<readonly string[]>;
}

export async function openKeyRows({ onTestFinished }: TestEnd): Promise<KeyRows> {
  const made = await createTestDatabase();
  onTestFinished(() => made.drop());
  const { database } = made;
  return {
    database,
    async park(count, dueInMs, toldAgoMs = null, group = 'shop') {
      const rows = await database.query<{ id: string }>(
        `insert into outbox.parked_key (consumer_group, topic, key, workflow_id, next_at, told_at)
         select $1, 'orders', gen_random_uuid(), 'w', outbox.clock() + $3 * interval '1 ms', outbox.clock() - $4 * interval '1 ms'
         from generate_series(1, $2::integer) returning id::text as id`,
        [group, count, dueInMs, toldAgoMs],
      );
      return rows.map(({ id }) => id);
    },
    async untold() {
      return (await untoldKeys(database, 'shop', 10_000)).map(({ keyId }) => keyId);
    },
  };
}
