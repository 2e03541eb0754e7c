import { randomUUID } from 'node:crypto';
import { openDatabase } from '../../src/store/pool.ts';
import type { Sql } from '../../src/store/database.ts';
import type { Outcome, OutgoingBatch, OutgoingMessage, Transport } from '../../src/transports/transport.ts';

/** A message as the journal received it. */
export interface JournalEntry {
  /** Order of arrival, from 1. */
  readonly arrival: number;
  readonly id: string;
  readonly address: string;
  readonly key: string | null;
  readonly payload: string;
  /** Who published it. */
  readonly publisher: string;
  /** The call of `publish` that brought it. */
  readonly batch: string;
  /** Milliseconds since the epoch, by the real clock of the database server. */
  readonly atMs: number;
}

export interface JournalOptions {
  /** Written beside every message. @defaultValue the process id */
  readonly publisher?: string;
  /** Runs before a batch is stored: tests block here. */
  readonly before?: (batch: OutgoingBatch) => Promise<void>;
  /** What is answered instead of storing the message; `undefined` stores it. */
  readonly refuse?: (message: OutgoingMessage) => Outcome | undefined;
}

/** Makes the table that stands for the broker. */
export async function createJournal(sql: Sql): Promise<void> {
  await sql.query(
    `create table published (
       arrival bigint generated always as identity (cache 1) primary key, id uuid not null, address text not null, key text,
       payload text not null, publisher text not null, batch uuid not null, at timestamptz not null default clock_timestamp())`,
  );
}

/** Everything that was published, in the order of arrival. */
export function readJournal(sql: Sql): Promise<readonly JournalEntry[]> {
  return sql.query<JournalEntry>(
    `select arrival::float8 as arrival, id, address, key, payload, publisher, batch, extract(epoch from at)::float8 * 1000 as "atMs"
     from published order by published.arrival`,
  );
}

/** A transport whose broker is a table: what it acknowledged outlives every process that a test kills. */
export function journalTransport(url: string, options: JournalOptions = {}): Transport {
  const { publisher = String(process.pid), before, refuse } = options;
  // Opened when first used, because relays may publish again after a close.
  let database: ReturnType<typeof openDatabase> | undefined;
  return {
    name: 'journal',
    async publish(batch) {
      await before?.(batch);
      const refused = refusals(batch.messages, refuse);
      const stored = batch.messages.filter((message) => !refused.has(message.id));
      database ??= openDatabase({ url });
      const offsets = await store(database, batch.address, publisher, stored);
      return {
        outcomes: batch.messages.map(
          ({ id }) =>
            refused.get(id) ?? { kind: 'acknowledged', partition: 0, offset: offsets.get(id) ?? null },
        ),
      };
    },
    async probe() {},
    async close() {
      await database?.close();
      database = undefined;
    },
  };
}

/** Outcomes of what is not stored: the refused messages, and the followers of their keys. */
function refusals(
  messages: readonly OutgoingMessage[],
  refuse: JournalOptions['refuse'],
): ReadonlyMap<string, Outcome> {
  const refused = new Map<string, Outcome>();
  const keys = new Set<string | null>();
  for (const message of messages) {
    const outcome = keys.has(message.key) ? { kind: 'skipped' as const } : refuse?.(message);
    if (outcome === undefined) continue;
    refused.set(message.id, outcome);
    if (message.key !== null) keys.add(message.key);
  }
  return refused;
}

async function store(
  sql: Sql,
  address: string,
  publisher: string,
  messages: readonly OutgoingMessage[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await sql.query<{ id: string; arrival: string }>(
    `insert into published (id, address, key, payload, publisher, batch)
     select m.id, $1, m.key, m.payload, $2, $3 from unnest($4::uuid[], $5::text[], $6::text[]) with ordinality as m(id, key, payload, n)
     order by m.n returning id, arrival::text as arrival`,
    [
      address,
      publisher,
      randomUUID(),
      messages.map((message) => message.id),
      messages.map((message) => message.key),
      messages.map((message) => message.payload),
    ],
  );
  return new Map(rows.map((row) => [row.id, row.arrival]));
}
