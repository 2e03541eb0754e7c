import type { Database } from '../../src/store/database.ts';
import { type KeptMessage, park } from '../../src/store/inbox/park.ts';
import { beginTry, type BeginAnswer, type BegunTry, type TryRules } from '../../src/store/inbox/tries.ts';
import { createTestDatabase } from './database.ts';
import { until } from './until.ts';

/** Parked keys of a group `shop`, and their tries, without a consumer. */
export interface TriedKeys {
  readonly url: string;
  readonly database: Database;
  readonly group: string;
  /** Parks these messages behind a key, each after one try; answers the id of the key. */
  park(key: string, ...ids: readonly string[]): Promise<string>;
  answer(keyId: string, rules?: Partial<TryRules>): Promise<BeginAnswer>;
  /** Begins a try, which must be due. */
  begin(keyId: string, rules?: Partial<TryRules>): Promise<BegunTry>;
  makeDue(keyId: string): Promise<void>;
  attempts(id: string): Promise<number | undefined>;
  /** Waits until somebody waits for a lock. */
  untilWaiting(): Promise<void>;
  drop(): Promise<void>;
}

const group = 'shop';

export async function openTriedKeys(): Promise<TriedKeys> {
  const made = await createTestDatabase();
  const { url, database } = made;
  const answer = (keyId: string, rules: Partial<TryRules> = {}): Promise<BeginAnswer> =>
    database.transaction((sql) =>
      beginTry(sql, keyId, { retryMs: [10_000, 10_000, 10_000], holdKey: false, ...rules }),
    );
  return {
    url,
    database,
    group,
    drop: () => made.drop(),
    answer,
    async park(key, ...ids) {
      await database.transaction((sql) =>
        park(
          sql,
          group,
          ids.map((id) => keptMessage(id, key)),
          0,
        ),
      );
      const [row] = await database.query<{ id: string }>('select id from outbox.parked_key where key = $1', [
        key,
      ]);
      return row?.id ?? '';
    },
    async begin(keyId, rules) {
      const begun = await answer(keyId, rules);
      if (begun.kind !== 'try') throw new Error(`Nothing to try: ${begun.kind}.`);
      return begun.message;
    },
    async makeDue(keyId) {
      await database.query('update outbox.parked_key set next_at = outbox.clock() where id = $1', [keyId]);
    },
    async attempts(id) {
      const [row] = await database.query<{ attempts: number }>(
        'select attempts from outbox.parked where message_id = $1',
        [id],
      );
      return row?.attempts;
    },
    untilWaiting: () =>
      until(async () => {
        const rows = await database.query(
          `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
        );
        return rows.length > 0;
      }),
  };
}

function keptMessage(id: string, key: string): KeptMessage {
  return {
    id,
    topic: 'orders',
    key,
    address: 'orders',
    partition: 0,
    offset: id,
    wire: '{"key":"k","headers":{}}',
    body: null,
    sentAt: new Date(0),
    state: 'parked',
    hold: false,
    attempts: 1,
    reason: null,
    error: null,
  };
}
