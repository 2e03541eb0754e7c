import { createHash } from 'node:crypto';
import type pg from 'pg';
import { codeTextOf } from '../../core/reason.ts';

/** Unknown to the connection, known to it under this name, or with other columns since a migration. */
const refusals = new Set(['26000', '42P05', '0A000']);

/**
 * Statements that the connections of a pool keep prepared, so that each connection parses and plans them once.
 *
 * A pooler that shares connections among clients may send a statement to one that does not have it. PostgreSQL refuses it
 * then, before anything is done; it is sent again as any other, and so are all later ones.
 */
export class PreparedStatements {
  readonly #pool: pg.Pool;
  readonly #names = new Map<string, string>();
  #refused = false;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  async run<Row>(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    const statement = { text, values: [...values] };
    const answer = this.#refused
      ? await this.#pool.query(statement)
      : await this.#pool.query({ ...statement, name: this.#nameOf(text) }).catch((error: unknown) => {
          if (!isRefusal(error)) throw error;
          this.#refused = true;
          return this.#pool.query(statement);
        });
    return answer.rows as readonly Row[];
  }

  /**
   * Its function, for whoever looks into `pg_prepared_statements`, and a hash, because programs of other versions may share the
   * connections of a pooler.
   */
  #nameOf(text: string): string {
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    const [called = 'outbox'] = /\boutbox\.\w+/.exec(text) ?? [];
    const name = `${called}-${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
    this.#names.set(text, name);
    return name;
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof Error && refusals.has(codeTextOf(error));
}
