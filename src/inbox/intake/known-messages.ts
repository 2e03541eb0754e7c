import type { Sql } from '../../store/database/database.ts';
import { sqlOf, type Transaction } from '../../store/database/transaction.ts';
import { readProcessed } from '../../store/inbox/processed.ts';
import { keepsAny, readKept } from '../../store/inbox/receive.ts';
import type { ConsumerContext } from '../consumer-context.ts';

/** Messages known to be duplicates before their transaction. */
export interface Known {
  /** Those that are kept, too, may be among these. */
  readonly processed: ReadonlySet<string>;
  readonly kept: ReadonlySet<string>;
}

const nothing: Known = { processed: new Set(), kept: new Set() };

/**
 * Finds duplicates before a transaction is opened or a body is parsed for them.
 *
 * An optimization only: duplicates that it misses are found in the transaction of the effects. It queries the database
 * while duplicates arrive, as in a replay; otherwise the query would cost more than it saves.
 */
export class KnownMessages<Tx extends Transaction> {
  readonly #context: ConsumerContext<Tx>;
  #expected = true;

  constructor(context: ConsumerContext<Tx>) {
    this.#context = context;
  }

  /** Whether there is a filter, to which handled messages are reported. */
  get filters(): boolean {
    return this.#context.filter !== undefined;
  }

  /** Which of these were committed before. Skips the query for fewer than two ids: the transaction is as fast. */
  async find(ids: readonly string[]): Promise<Known> {
    const {
      filter,
      rules: { group },
    } = this.#context;
    const seen = filter === undefined ? nothing.processed : await filter.seen(group, ids);
    if (!this.#expected || ids.length < 2) return { processed: seen, kept: nothing.kept };
    const rest = seen.size === 0 ? ids : ids.filter((id) => !seen.has(id));
    if (rest.length === 0) return { processed: seen, kept: nothing.kept };
    const { processed, kept } = await this.#ask((sql) => look(sql, group, rest));
    this.#expected = processed.size + kept.size > 0;
    return { processed: seen.size === 0 ? processed : new Set([...seen, ...processed]), kept };
  }

  /** To be called when a duplicate arrived: {@link find} then queries the database. */
  expectMore(): void {
    this.#expected = true;
  }

  /** Records messages whose effects are committed. */
  async note(ids: readonly string[]): Promise<void> {
    const {
      filter,
      rules: { group },
    } = this.#context;
    await filter?.add(group, ids);
  }

  #ask<Result>(question: (sql: Sql) => Promise<Result>): Promise<Result> {
    return this.#context.client.$transaction((tx) => question(sqlOf(tx)));
  }
}

async function look(sql: Sql, group: string, ids: readonly string[]): Promise<Known> {
  const noted = await readProcessed(sql, group, ids);
  if (noted.size === 0 || !(await keepsAny(sql, group))) return { processed: noted, kept: nothing.kept };
  return { processed: noted, kept: await readKept(sql, group, [...noted]) };
}
