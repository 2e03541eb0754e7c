import { randomUUID } from 'node:crypto';
import { operations, type Operations } from '../../src/operations.ts';
import type { Database } from '../../src/store/database.ts';
import { park } from '../../src/store/inbox/park.ts';
import { receive } from '../../src/store/inbox/receive.ts';
import {
  beginTry,
  type BeginAnswer,
  endTry,
  failTry,
  joinTry,
  type BegunTry,
} from '../../src/store/inbox/tries.ts';
import { createTestDatabase } from './database.ts';
import { until } from './until.ts';

interface TestEnd {
  readonly onTestFinished: (work: () => Promise<void>) => void;
}

export interface KeepOptions {
  /** @defaultValue `K` */
  readonly key?: string | null;
  /** @defaultValue `parked` */
  readonly state?: 'parked' | 'failed';
  readonly hold?: boolean;
  /** Until the first try of a key that was free. @defaultValue 0 */
  readonly retryInMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | null;
  readonly reason?: string;
}

/** A consumer group on a real database whose consumer is the test itself: what it does, and when, is up to the test. */
export interface KeptBench {
  readonly url: string;
  readonly database: Database;
  readonly group: string;
  readonly operator: Operations;
  /** Keeps a message as a consumer does, in a transaction of its own. Answers its id, which begins with the label. */
  keep(label: string, options?: KeepOptions): Promise<string>;
  /** Tries the first message of the key that has this message, with no retries left when it fails. */
  begin(id: string): Promise<BeginAnswer>;
  /** As {@link begin}, until it is not busy because of handlers that might have begun before. */
  beginOnceKnown(id: string): Promise<BeginAnswer>;
  /** Commits the effects of a try. */
  succeed(id: string, begun: BegunTry): Promise<string>;
  /** Tries the key of this message until it is free; answers the ids in the order of their effects. */
  drain(id: string): Promise<readonly string[]>;
  /** States by id, `-` for one that is not kept. */
  states(...ids: readonly string[]): Promise<readonly string[]>;
  keyOf(id: string): Promise<KeyRow | undefined>;
  audit(): Promise<readonly KeptAudit[]>;
}

export interface KeyRow {
  readonly id: string;
  readonly dueInMs: number | null;
  readonly toldAt: string | null;
}

export interface KeptAudit {
  readonly action: string;
  readonly group: string | null;
  readonly id: string | null;
  readonly result: string;
  readonly reason: string | null;
  readonly details: Readonly<Record<string, unknown>> | null;
}

const retryMs = [60_000];
const rules = { retryMs, holdKey: false, mostKills: 3 };
const hand = { worker: '7', most: 1, alone: false };

export async function keptBench({ onTestFinished }: TestEnd, { holdKey = false } = {}): Promise<KeptBench> {
  const made = await createTestDatabase();
  const { database, url } = made;
  const operator = operations({ database: { url } });
  onTestFinished(async () => {
    await operator.close();
    await made.drop();
  });
  const group = `group-${randomUUID()}`;
  const tries = { ...rules, holdKey };
  const keyOf = (id: string) => readKey(database, group, id);
  const keyIdOf = async (id: string): Promise<string> => {
    const key = await keyOf(id);
    if (key === undefined) throw new Error(`The message ${id} is behind no key.`);
    return key.id;
  };
  const beginAt = (keyId: string): Promise<BeginAnswer> =>
    database.transaction((sql) => beginTry(sql, keyId, tries, hand));
  const beginOnceKnownAt = async (keyId: string): Promise<BeginAnswer> => {
    let begun: BeginAnswer = { kind: 'busy' };
    // Transactions of the whole server are waited for, those of other tests included.
    await until(async () => (begun = await beginAt(keyId)).kind !== 'busy');
    return begun;
  };
  const succeedAt = (keyId: string, begun: BegunTry): Promise<string> =>
    database.transaction(async (sql) => {
      if (!(await joinTry(sql, group, keyId, [begun], hand.worker))) return 'left';
      return endTry(sql, group, keyId, [begun.id]);
    });
  return {
    url,
    database,
    group,
    operator,
    keyOf,
    keep: (label, options = {}) => keep(database, group, label, options),
    begin: async (id) => beginAt(await keyIdOf(id)),
    beginOnceKnown: async (id) => beginOnceKnownAt(await keyIdOf(id)),
    succeed: async (id, begun) => succeedAt(await keyIdOf(id), begun),
    async drain(id) {
      const handled: string[] = [];
      const keyId = await keyIdOf(id);
      for (;;) {
        const begun = await beginOnceKnownAt(keyId);
        if (begun.kind !== 'try') return handled;
        await succeedAt(keyId, begun.message);
        handled.push(begun.message.id);
      }
    },
    async states(...ids) {
      const rows = await database.query<{ id: string; state: string }>(
        'select message_id as id, state from outbox.parked where consumer_group = $1 and message_id = any($2::text[])',
        [group, ids],
      );
      return ids.map((id) => rows.find((row) => row.id === id)?.state ?? '-');
    },
    audit: () =>
      database.query<KeptAudit>(
        `select action, consumer_group as "group", inbox_id as id, result, reason, details from outbox.audit a order by a.id`,
      ),
  };
}

/** Gives a begun try up, as a handler's failure does that was the last one. */
export async function giveUp(bench: KeptBench, message: BegunTry, holdKey = false): Promise<void> {
  const key = await bench.keyOf(message.id);
  await bench.database.transaction((sql) =>
    failTry(
      sql,
      bench.group,
      key?.id ?? randomUUID(),
      { message, reason: 'error', error: 'Error: no', final: true },
      { ...rules, holdKey },
    ),
  );
}

async function keep(
  database: Database,
  group: string,
  label: string,
  { body, headers, hold = false, key = 'K', reason = 'error', retryInMs = 0, state = 'parked' }: KeepOptions,
): Promise<string> {
  const id = `${label}-${randomUUID()}`;
  await database.transaction(async (sql) => {
    const [arrival] = await receive(sql, group, [{ id, topic: 'orders', key }]);
    const queued = arrival === 'queued';
    const kept = {
      id,
      topic: 'orders',
      key,
      address: 'orders.address',
      partition: 0,
      offset: '7',
      wire: JSON.stringify({ key, headers: headers ?? { ce_id: id, ce_type: 'orders', note: 'old' } }),
      body: body === undefined ? Buffer.from(JSON.stringify({ n: label })) : body,
      sentAt: new Date(),
      state: queued ? ('parked' as const) : state,
      hold,
      attempts: queued ? 0 : 1,
      reason: queued ? null : reason,
      error: queued ? null : 'Error: the bank is closed',
    };
    await park(sql, group, [kept], retryInMs);
  });
  return id;
}

async function readKey(database: Database, group: string, id: string): Promise<KeyRow | undefined> {
  const [row] = await database.query<KeyRow>(
    `select k.id, k.told_at::text as "toldAt",
       case when k.next_at < 'infinity' then (extract(epoch from k.next_at - outbox.clock()) * 1000)::float8 end as "dueInMs"
     from outbox.parked_key k join outbox.parked p on p.key_id = k.id
     where p.consumer_group = $1 and p.message_id = $2`,
    [group, id],
  );
  return row;
}
