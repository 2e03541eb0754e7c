import type { Database } from '../../src/store/database.ts';
import { type KeptMessage, park } from '../../src/store/inbox/park.ts';
import {
  beginTry,
  type BeginAnswer,
  type BegunTry,
  type TryHand,
  type TryRules,
} from '../../src/store/inbox/tries.ts';
import { type DeadTries, endDeadTries } from '../../src/store/inbox/parked-keys.ts';
import { openDatabase } from '../../src/store/pool.ts';
import { createTestDatabase } from './database.ts';
import { until } from './until.ts';

/** A process that tries keys, as the database sees it: some connections. */
export interface TryingProcess {
  readonly begin: TriedKeys['begin'];
  readonly answer: TriedKeys['answer'];
  /** Ends the tries of those that are dead, and answers their keys. */
  bury(how?: Partial<TryRules>): Promise<DeadTries>;
  /** Its connections end. */
  disconnect(): Promise<void>;
  /** As {@link disconnect}; resolves when the server knows it. */
  die(): Promise<void>;
}

/** Parked keys of a group `shop`, and their tries, without a consumer. */
export interface TriedKeys {
  readonly url: string;
  readonly database: Database;
  readonly group: string;
  /** Of who begins the tries, unless it is said otherwise. */
  readonly worker: string;
  readonly rules: TryRules;
  /** Parks these messages behind a key, each after one try; answers the id of the key. */
  park(key: string, ...ids: readonly string[]): Promise<string>;
  answer(keyId: string, how?: Partial<TryRules & TryHand>): Promise<BeginAnswer>;
  /** Begins a try, which must be due. */
  begin(keyId: string, how?: Partial<TryRules & TryHand>): Promise<BegunTry>;
  /** A process of its own, with a worker of its own. */
  process(worker: string): TryingProcess;
  makeDue(keyId: string): Promise<void>;
  attempts(id: string): Promise<number | undefined>;
  /** Waits until somebody waits for a lock. */
  untilWaiting(): Promise<void>;
  drop(): Promise<void>;
}

const group = 'shop';
const worker = '7';
const rules: TryRules = { retryMs: [10_000, 10_000, 10_000], holdKey: false, mostKills: 3 };

export async function openTriedKeys(): Promise<TriedKeys> {
  const made = await createTestDatabase();
  const { url, database } = made;
  const processes = new Set<Database>();
  const disconnect = async (own: Database): Promise<void> => {
    processes.delete(own);
    await own.close();
  };
  const triesOn = (on: Database, name: string) => {
    const answer: TriedKeys['answer'] = (keyId, how = {}) => {
      const all = { ...rules, worker: name, most: 1, alone: false, ...how };
      return on.transaction((sql) => beginTry(sql, keyId, all, all));
    };
    const begin: TriedKeys['begin'] = async (keyId, how) => {
      const begun = await answer(keyId, how);
      if (begun.kind !== 'try') throw new Error(`Nothing to try: ${begun.kind}.`);
      return begun.message;
    };
    return { answer, begin };
  };
  return {
    url,
    database,
    group,
    worker,
    rules,
    async drop() {
      await Promise.all([...processes].map((one) => one.close()));
      await made.drop();
    },
    ...triesOn(database, worker),
    process(name) {
      const own = openDatabase({ url });
      processes.add(own);
      return {
        ...triesOn(own, name),
        bury: (how) => own.transaction((sql) => endDeadTries(sql, group, name, { ...rules, ...how })),
        disconnect: () => disconnect(own),
        async die() {
          await disconnect(own);
          // The server notices a moment later.
          await until(async () => {
            const [row] = await database.query<{ free: boolean }>(
              'select pg_try_advisory_xact_lock($1::bigint) as free',
              [name],
            );
            return row?.free === true;
          });
        },
      };
    },
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
