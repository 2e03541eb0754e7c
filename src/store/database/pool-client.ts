import { type ConnectionPool, outlive, type PoolConnection } from './pool-connection.ts';
import { type IsolationLevel, PoolTransaction } from './pool-transaction.ts';
import type { Transaction } from './transaction.ts';

/** As Prisma has them. */
const usualMaxWaitMs = 2_000;
const usualTimeoutMs = 5_000;

/** How one transaction of a {@link PoolClient} is done. */
export interface PoolTransactionOptions {
  /** For how many milliseconds it may wait for a connection, and again for the server to begin. @defaultValue 2,000 */
  readonly maxWait?: number;
  /** How many milliseconds its work may take, before it is rolled back. @defaultValue 5,000 */
  readonly timeout?: number;
  /** How far it sees what others commit meanwhile. @defaultValue that of the database */
  readonly isolationLevel?: IsolationLevel;
}

/** An open transaction on a connection of a pool: for your own statements, and for `send`, `cancel`, `once` and the like. */
export interface PoolTransactionClient<Connection extends PoolConnection> extends Transaction {
  /**
   * As `query` of the connection: `tx.query('update … where id = $1', [id])`. It rejects with `OUTBOX_NOT_IN_TRANSACTION`
   * once the transaction has ended, and with `OUTBOX_TRANSACTION_ROLLED_BACK` once its time is over.
   */
  readonly query: Connection['query'];
  /**
   * The connection itself, for libraries that take one, as `drizzle({ client: tx.connection })`. It refuses statements as
   * `query` does, and releasing it does nothing: the transaction does.
   */
  readonly connection: Connection;
}

/** A client whose transactions are those of a pool. */
export interface PoolClient<Connection extends PoolConnection> {
  /**
   * Does `work` in a transaction, which commits when it resolves and is rolled back when it rejects.
   *
   * A transaction whose time is over is rolled back at once, or when its statement ends; then, when `work` has ended, it is
   * rejected. So is one in which a statement has failed and `work` resolves all the same. A connection that is lost, or
   * answers nothing for 5 s after a statement's time was over, is closed.
   *
   * @throws OutboxError `OUTBOX_TRANSACTION_ROLLED_BACK`; `OUTBOX_SERVER_UNAVAILABLE`, also where nobody can tell whether it has
   * committed; `OUTBOX_OPTION_INVALID`; and whatever the server says and `work` throws
   */
  $transaction<Result>(
    work: (tx: PoolTransactionClient<Connection>) => Promise<Result>,
    options?: PoolTransactionOptions,
  ): Promise<Result>;
  /** Runs one statement with `$1`-style values, outside of any transaction, and answers its rows. */
  $queryRawUnsafe<Result = unknown>(query: string, ...values: unknown[]): Promise<Result>;
  /** Makes a connection, to see that the database lets it in. No need to call it: it is what tells a client from a transaction. */
  $connect(): Promise<void>;
}

const pools = new WeakMap<object, ConnectionPool>();

/**
 * Makes a client of a pool of `pg`, for those who do not use Prisma: a consumer takes it, and `transaction` does.
 *
 * The pool stays yours: end it when nothing uses it any more. It should have as many connections as `consumer` says. From
 * now on the end of a connection, as when the server restarts, does not end the process; without a listener for `error`
 * `pg` would. The pool makes new ones.
 *
 * Handlers get `tx.query` and `tx.connection`; statements that they forget to wait for are waited for. Values come back
 * as `pg` reads them.
 *
 * @param pool the `Pool` of `pg`, one that works as it does, or that of Drizzle or Kysely
 * @example
 * const pool = new Pool({ connectionString, max: 15 });
 * await consumer(clientOf(pool), { config, group: 'orders' })
 *   .on(orderTimeout, (tx, { payload }) => tx.query('update orders set status = $2 where id = $1', [payload.orderId, 'CANCELED']))
 *   .start();
 */
export function clientOf<Connection extends PoolConnection>(
  pool: ConnectionPool<Connection>,
): PoolClient<Connection> {
  outlive(pool);
  const client: PoolClient<Connection> = {
    async $transaction(work, { maxWait = usualMaxWaitMs, timeout = usualTimeoutMs, isolationLevel } = {}) {
      const open = await PoolTransaction.begin(pool, {
        isolationLevel,
        maxWaitMs: maxWait,
        timeoutMs: timeout,
      });
      try {
        const result = await work(transactionOn(open.connection));
        await open.commit();
        return result;
      } catch (error) {
        await open.rollBack();
        throw error;
      }
    },
    $queryRawUnsafe: (text, ...values) => rowsOf(pool, text, values),
    async $connect() {
      const connection = await pool.connect();
      connection.release();
    },
  };
  pools.set(client, pool);
  return client;
}

/** How many connections the pool of such a client has at most; `undefined`: it is no such client, or its pool does not say. */
export function connectionsOf(client: object): number | undefined {
  const max = pools.get(client)?.options?.max;
  return typeof max === 'number' ? max : undefined;
}

function transactionOn<Connection extends PoolConnection>(
  connection: Connection,
): PoolTransactionClient<Connection> {
  return {
    connection,
    query: connection.query,
    $queryRawUnsafe: (text, ...values) => rowsOf(connection, text, values),
  };
}

async function rowsOf<Result>(
  on: Pick<ConnectionPool, 'query'>,
  text: string,
  values: unknown[],
): Promise<Result> {
  const { rows } = await on.query({ text, values });
  return rows as Result;
}
