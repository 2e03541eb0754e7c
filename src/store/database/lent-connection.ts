import { late, orLate } from '../../core/or-late.ts';
import { reasonOf } from '../../core/reason.ts';
import { spoilsSession } from './bad-session.ts';
import { databaseUnavailable } from './connection-lost.ts';
import { type ConnectionPool, outliveConnection, type PoolConnection } from './pool-connection.ts';

/** Error texts of `pg` for statements on a connection that has ended. */
const endedWords = /^(?:Connection terminated|Client has encountered a connection error|Client was closed)/;

/** A pooled connection, checked out for one piece of work. */
export class LentConnection<Connection extends PoolConnection> {
  readonly connection: Connection;
  /** Set if the connection can no longer be used. */
  #lost: Error | undefined;
  #back = false;
  /** Resolves when no statement is running. */
  #quiet: Promise<unknown> = Promise.resolve();

  /** Marks the connection to be closed when it is given back. */
  readonly lose = (error: unknown): void => {
    this.#lost ??= error instanceof Error ? error : new Error(reasonOf(error));
  };

  private constructor(connection: Connection) {
    this.connection = connection;
    outliveConnection(connection);
    connection.on('error', this.lose);
  }

  /** @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE`; and the server's error when it refuses the connection */
  static async of<Connection extends PoolConnection>(
    pool: ConnectionPool<Connection>,
    withinMs: number,
  ): Promise<LentConnection<Connection>> {
    const asked = pool.connect();
    try {
      const connection = await orLate(asked, withinMs);
      if (connection !== late) return new LentConnection(connection);
    } catch (error) {
      throw saidByServer(error) ? error : databaseUnavailable(reasonOf(error), error);
    }
    // The caller has given up: return the connection when it arrives.
    asked.then((connection) => connection.release()).catch(() => undefined);
    throw databaseUnavailable(`no connection of the pool was free within ${withinMs} ms`);
  }

  /** Waits for a statement on the connection. @throws the statement's error, or that of a lost connection */
  async noted<Result>(answer: PromiseLike<Result>): Promise<Result> {
    this.#quiet = Promise.allSettled([this.#quiet, answer]);
    try {
      return await answer;
    } catch (error) {
      if (this.#lost === undefined && !endedWords.test(reasonOf(error)) && !spoilsSession(error)) throw error;
      this.lose(error);
      throw saidByServer(error) ? error : databaseUnavailable(reasonOf(error), error);
    }
  }

  /**
   * Runs a statement after all others. If it is not answered in time, the connection is closed.
   *
   * @param otherwise the text of the error in that case
   */
  async run(text: string, withinMs: number, otherwise: string): Promise<{ readonly command: string }> {
    const answer = await orLate(this.#after(text), withinMs);
    if (answer !== late) return answer;
    const error = databaseUnavailable(otherwise);
    this.lose(error);
    this.giveBack();
    throw error;
  }

  /** Returns the connection to the pool, to be closed if it is lost. A second call does nothing. */
  giveBack(): void {
    if (this.#back) return;
    this.#back = true;
    this.connection.off('error', this.lose);
    this.connection.release(this.#lost);
  }

  async #after(text: string): Promise<{ readonly command: string }> {
    await this.#quiet;
    return this.noted(this.connection.query({ text, values: [] }));
  }
}

/** True for an error that the server has sent: only these have a severity. */
function saidByServer(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'severity' in error;
}
