import { setTimeout as delay } from 'node:timers/promises';
import { databaseUnavailable } from './connection-lost.ts';
import { type ConnectionPool, outliveConnection, type PoolConnection } from './pool-connection.ts';

/** What `pg` says of statements on a connection that has ended. */
const endedWords = /^(?:Connection terminated|Client has encountered a connection error|Client was closed)/;

/** A connection of a pool in the hands of one piece of work. */
export class LentConnection<Connection extends PoolConnection> {
  readonly connection: Connection;
  /** Nothing more can be asked over it. */
  #lost: Error | undefined;
  #back = false;
  /** Resolves when no statement is under way. */
  #quiet: Promise<unknown> = Promise.resolve();

  /** Has it closed when it is given back. */
  readonly lose = (error: unknown): void => {
    this.#lost ??= error instanceof Error ? error : new Error(String(error));
  };

  private constructor(connection: Connection) {
    this.connection = connection;
    outliveConnection(connection);
    connection.on('error', this.lose);
  }

  /** @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE`; and what the server says when it lets nobody in */
  static async of<Connection extends PoolConnection>(
    pool: ConnectionPool<Connection>,
    withinMs: number,
  ): Promise<LentConnection<Connection>> {
    const asked = pool.connect();
    try {
      const connection = await answerWithin(withinMs, asked);
      if (connection !== undefined) return new LentConnection(connection);
    } catch (error) {
      throw saidByServer(error) ? error : databaseUnavailable(textOf(error), error);
    }
    // Nobody waits for it any longer.
    asked.then((connection) => connection.release()).catch(() => undefined);
    throw databaseUnavailable(`no connection of the pool was free within ${withinMs} ms`);
  }

  /** Waits for a statement that was given to the connection. @throws what it throws, or that the connection is lost */
  async noted<Result>(answer: PromiseLike<Result>): Promise<Result> {
    this.#quiet = Promise.allSettled([this.#quiet, answer]);
    try {
      return await answer;
    } catch (error) {
      if (this.#lost === undefined && !endedWords.test(textOf(error))) throw error;
      this.lose(error);
      throw saidByServer(error) ? error : databaseUnavailable(textOf(error), error);
    }
  }

  /**
   * Runs a statement after all others. The connection is closed when it is not answered in time.
   *
   * @param otherwise what is said then
   */
  async run(text: string, withinMs: number, otherwise: string): Promise<{ readonly command: string }> {
    const answer = await answerWithin(withinMs, this.#after(text));
    if (answer !== undefined) return answer;
    const error = databaseUnavailable(otherwise);
    this.lose(error);
    this.giveBack();
    throw error;
  }

  /** To the pool; closed when it is lost. Does nothing when that was done. */
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

/** The answer, or `undefined` when it takes longer. */
async function answerWithin<Answer>(ms: number, answer: Promise<Answer>): Promise<Answer | undefined> {
  const answered = new AbortController();
  const late = delay(ms, undefined, { signal: answered.signal }).catch(() => undefined);
  answer.catch(() => undefined);
  return Promise.race([answer, late]).finally(() => answered.abort());
}

/** What the server says of a statement, or of who may come in, has a severity. */
function saidByServer(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'severity' in error;
}

/** A refused connection to several addresses of one name is an AggregateError with an empty message. */
function textOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(textOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}
