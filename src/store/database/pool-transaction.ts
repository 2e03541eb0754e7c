import { callbackify } from 'node:util';
import { OutboxError } from '../../core/errors.ts';
import { startTimer } from '../../core/timer.ts';
import { LentConnection } from './lent-connection.ts';
import type { ConnectionPool, PoolConnection } from './pool-connection.ts';

/** Prisma's defaults. */
export const usualMaxWaitMs = 2_000;
export const usualTimeoutMs = 5_000;

/** Isolation levels, with Prisma's names. */
export type IsolationLevel = 'ReadUncommitted' | 'ReadCommitted' | 'RepeatableRead' | 'Serializable';

/** Options of one transaction of a client of `clientOf` or `prisma8`. */
export interface PoolTransactionOptions {
  /** Milliseconds that it may wait for a connection, and then again for `begin`. @defaultValue 2,000 */
  readonly maxWait?: number;
  /** Milliseconds that its work may take before it is rolled back. @defaultValue 5,000 */
  readonly timeout?: number;
  /** Isolation level. @defaultValue the database's default */
  readonly isolationLevel?: IsolationLevel;
}

const levels: Readonly<Record<IsolationLevel, string>> = {
  ReadUncommitted: 'isolation level read uncommitted',
  ReadCommitted: 'isolation level read committed',
  RepeatableRead: 'isolation level repeatable read',
  Serializable: 'isolation level serializable',
};

/** The server ends a statement at the timeout of its transaction; the answer may arrive this much later. */
const graceMs = 5_000;

export interface BeginOptions {
  /** @defaultValue the database's default */
  readonly isolationLevel: IsolationLevel | undefined;
  /** Milliseconds to wait for a connection, and then again for `begin`. */
  readonly maxWaitMs: number;
  /** Milliseconds from `begin` until it is rolled back. */
  readonly timeoutMs: number;
}

/**
 * A transaction on a pooled connection: rolled back after its timeout, and closed to statements after its end, because
 * then the connection may belong to another transaction.
 */
export class PoolTransaction<Connection extends PoolConnection> {
  /** The connection for the time of this transaction: unusable after it, and its `release` does nothing. */
  readonly connection: Connection;
  readonly #lent: LentConnection<Connection>;
  readonly #limitMs: number;
  readonly #timer: NodeJS.Timeout;
  #ended: OutboxError | undefined;
  #rolledBack: Promise<void> | undefined;

  private constructor(lent: LentConnection<Connection>, timeoutMs: number) {
    this.#lent = lent;
    this.#limitMs = timeoutMs + graceMs;
    this.connection = this.#guarded();
    this.#timer = startTimer(() => {
      this.#ended = tooLong(timeoutMs);
      void this.rollBack();
    }, timeoutMs);
  }

  /** @throws OutboxError `OUTBOX_SERVER_UNAVAILABLE`, `OUTBOX_OPTION_INVALID`; and errors of the server */
  static async begin<Connection extends PoolConnection>(
    pool: ConnectionPool<Connection>,
    { isolationLevel, maxWaitMs, timeoutMs }: BeginOptions,
  ): Promise<PoolTransaction<Connection>> {
    const begin = isolationLevel === undefined ? 'begin' : `begin ${levelOf(isolationLevel)}`;
    const lent = await LentConnection.of(pool, maxWaitMs);
    try {
      await lent.run(begin, maxWaitMs, `no transaction has begun within ${maxWaitMs} ms`);
    } catch (error) {
      // What cannot even begin will not do so for the next one either.
      lent.lose(error);
      lent.giveBack();
      throw error;
    }
    return new PoolTransaction(lent, timeoutMs);
  }

  /**
   * @throws OutboxError `OUTBOX_TRANSACTION_ROLLED_BACK`; `OUTBOX_SERVER_UNAVAILABLE` if it is unknown whether it committed;
   * and errors of the server
   */
  async commit(): Promise<void> {
    if (this.#ended !== undefined) throw this.#ended;
    this.#end();
    try {
      const otherwise = 'a commit was not answered, so it is unknown whether the transaction committed';
      const { command } = await this.#lent.run('commit', this.#limitMs, otherwise);
      // If the error of a statement was caught, the server answers a commit with ROLLBACK, without an error.
      if (command === 'ROLLBACK') throw failedBefore();
    } finally {
      this.#lent.giveBack();
    }
  }

  /** Resolves when the transaction is rolled back, or the connection is lost. Never rejects; does nothing after a commit. */
  rollBack(): Promise<void> {
    this.#rolledBack ??= this.#rollBack();
    return this.#rolledBack;
  }

  async #rollBack(): Promise<void> {
    this.#end();
    await this.#lent
      .run('rollback', this.#limitMs, 'a rollback was not answered')
      .catch((error: unknown) => this.#lent.lose(error));
    this.#lent.giveBack();
  }

  #end(): void {
    clearTimeout(this.#timer);
    this.#ended ??= over();
  }

  #guarded(): Connection {
    const { connection } = this.#lent;
    const query = (...given: unknown[]): unknown => this.#query(given);
    return new Proxy(connection, {
      get(_, name): unknown {
        if (name === 'query') return query;
        if (name === 'release') return () => undefined;
        const value: unknown = Reflect.get(connection, name, connection);
        return typeof value === 'function' ? value.bind(connection) : value;
      },
    });
  }

  /** Runs a query in any of the connection's call forms: some return a promise, some call back. */
  #query(given: readonly unknown[]): unknown {
    const { connection } = this.#lent;
    const last = given.at(-1);
    if (isCallback(last)) {
      const answered = this.#query(given.slice(0, -1));
      if (isPromise(answered)) callbackify(() => answered)(last);
      return undefined;
    }
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    const answer: unknown = Reflect.apply(connection.query, connection, given);
    return isPromise(answer) ? this.#lent.noted(answer) : answer;
  }
}

function isCallback(last: unknown): last is (error: unknown, result: unknown) => void {
  return typeof last === 'function';
}

function isPromise(answer: unknown): answer is Promise<unknown> {
  return typeof answer === 'object' && answer !== null && 'then' in answer;
}

/** As SQL. @throws OutboxError `OUTBOX_OPTION_INVALID` */
export function levelOf(level: IsolationLevel): string {
  const known: Readonly<Record<string, string>> = levels;
  const words = known[level];
  if (words !== undefined) return words;
  throw new OutboxError(
    'OUTBOX_OPTION_INVALID',
    `The option "isolationLevel" is not one of ${Object.keys(levels).join(', ')}.`,
    { details: { option: 'isolationLevel' } },
  );
}

function over(): OutboxError {
  return new OutboxError(
    'OUTBOX_NOT_IN_TRANSACTION',
    'The transaction has ended: the statement would run in another transaction.',
  );
}

export function tooLong(timeoutMs: number): OutboxError {
  return new OutboxError(
    'OUTBOX_TRANSACTION_ROLLED_BACK',
    `The transaction has reached its timeout of ${timeoutMs} ms and is rolled back.`,
    { details: { limitMs: timeoutMs } },
  );
}

export function failedBefore(cause?: unknown): OutboxError {
  return new OutboxError(
    'OUTBOX_TRANSACTION_ROLLED_BACK',
    'A statement of the transaction failed, so PostgreSQL rolled it back instead of committing it.',
    { cause },
  );
}
