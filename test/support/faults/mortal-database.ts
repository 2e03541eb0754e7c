import type { Database, Session, Sql } from '../../../src/store/database/database.ts';

/** Rejects calls of a dead process. Not a connection failure, so it is not retried. */
export class ProcessDied extends Error {
  readonly code = 'XX000';
}

/**
 * The database as seen by one process, which a test can kill or freeze. Committed changes stay; a transaction that is
 * open at the death is rolled back; nothing reaches the server afterwards, so no lease is released.
 */
export class MortalDatabase implements Database {
  readonly #inner: Database;
  #statementsLeft = Number.POSITIVE_INFINITY;
  #frozen: Promise<void> | undefined;
  #thaw: (() => void) | undefined;

  /** Called with every statement before it runs. */
  onStatement: (text: string, values: readonly unknown[]) => void = () => undefined;

  constructor(inner: Database) {
    this.#inner = inner;
  }

  get dead(): boolean {
    return this.#statementsLeft < 0;
  }

  /** Dies now. */
  kill(): void {
    this.#statementsLeft = -1;
  }

  /** Dies after this many more statements; the result of the last one is lost. */
  dieAfter(statements: number): void {
    this.#statementsLeft = statements;
  }

  /** Every statement waits until {@link thaw}, as in a process that was stopped. */
  freeze(): void {
    this.#frozen ??= new Promise((resolve) => {
      this.#thaw = resolve;
    });
  }

  thaw(): void {
    this.#thaw?.();
    this.#frozen = undefined;
  }

  query<Row>(text: string, values?: readonly unknown[]): Promise<readonly Row[]> {
    this.onStatement(text, values ?? []);
    return this.#mortally(() => this.#inner.query<Row>(text, values));
  }

  transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> {
    const commit = (): Promise<Result> =>
      this.#inner.transaction((sql) =>
        work({ query: (text, values) => this.#mortally(() => sql.query(text, values)) }),
      );
    return this.#mortally(commit);
  }

  openSession(channel: string, onNotify: (payload: string) => void): Promise<Session> {
    return this.#inner.openSession(channel, onNotify);
  }

  async close(): Promise<void> {}

  async #mortally<Result>(work: () => Promise<Result>): Promise<Result> {
    await this.#frozen;
    if (this.dead) throw new ProcessDied('This process is dead.');
    const result = await work();
    this.#statementsLeft -= 1;
    if (this.dead) throw new ProcessDied('This process died before it heard the answer.');
    return result;
  }
}
