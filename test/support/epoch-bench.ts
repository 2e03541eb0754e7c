import type { Database, Sql } from '../../src/store/database.ts';
import { markProcessed } from '../../src/store/inbox/processed.ts';
import { type KeepWindowInput, keepWindow, type KeptWindow } from '../../src/store/inbox/window.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';

export const hourMs = 60 * 60_000;
export const dayMs = 24 * hourMs;

/** A database of processed ids whose time a test moves. */
export class EpochBench {
  readonly #made: TestDatabase;
  #aheadMs = 0;

  constructor(made: TestDatabase) {
    this.#made = made;
  }

  static async create(): Promise<EpochBench> {
    const made = await createTestDatabase();
    // In the template of all tests the first epoch began minutes ago.
    await made.database.query('update outbox.processed_epoch set begun_at = outbox.clock()');
    return new EpochBench(made);
  }

  get database(): Database {
    return this.#made.database;
  }

  get url(): string {
    return this.#made.url;
  }

  /** Has the outbox believe that so much time has passed. */
  async pass(ms: number): Promise<void> {
    this.#aheadMs += ms;
    await this.database.query(
      `create or replace function outbox.clock() returns timestamptz language sql stable
         as $$ select now() + ${this.#aheadMs} * interval '1 ms' $$`,
    );
  }

  /** Marks ids in a transaction of their own, or in the given one. */
  async mark(ids: readonly string[], group = 'g', sql?: Sql): Promise<readonly string[]> {
    const topics = ids.map(() => 'orders');
    const fresh = await (sql === undefined
      ? this.database.transaction((own) => markProcessed(own, group, ids, topics))
      : markProcessed(sql, group, ids, topics));
    return [...fresh].toSorted();
  }

  keep(windowMs: number, input: Partial<KeepWindowInput> = {}): Promise<KeptWindow> {
    return keepWindow(this.database, {
      windowMs,
      signal: new AbortController().signal,
      pauseMs: 0,
      ...input,
    });
  }

  /** Ends the current epoch at once, whatever its age. `busy`: writers were in the way. */
  async roll(patienceMs = 300): Promise<string | undefined> {
    const [row] = await this.database.query<{ answer: string }>(
      'select outbox.roll_processed(0, $1, 0) as answer',
      [patienceMs],
    );
    return row?.answer;
  }

  /** Epochs whose tables exist, the oldest first. */
  async epochs(): Promise<readonly number[]> {
    const rows = await this.database.query<{ epoch: number }>(
      `select substring(c.relname from 'processed_(.*)')::integer as epoch
       from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'outbox.processed'::regclass order by 1`,
    );
    return rows.map(({ epoch }) => epoch);
  }

  drop(): Promise<void> {
    return this.#made.drop();
  }
}
