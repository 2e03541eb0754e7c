import { shared } from '../../core/shared.ts';
import { assertPool } from './client.ts';
import { type ConnectionPool, outlive, type PoolConnection } from './pool-connection.ts';
import {
  PoolTransaction,
  type PoolTransactionOptions,
  usualMaxWaitMs,
  usualTimeoutMs,
} from './pool-transaction.ts';
import type { Transaction } from './transaction.ts';

/** An open transaction on a pooled connection, for your own statements and for `send`, `cancel`, `once` and others. */
export interface PoolTransactionClient<Connection extends PoolConnection> extends Transaction {
  /**
   * The connection's `query`: `tx.query('update … where id = $1', [id])`. It rejects with `OUTBOX_NOT_IN_TRANSACTION` after
   * the transaction has ended, and with `OUTBOX_TRANSACTION_ROLLED_BACK` after its timeout.
   */
  readonly query: Connection['query'];
  /**
   * The connection itself, for libraries that take one, as `drizzle({ client: tx.connection })`. It refuses statements as
   * `query` does. Its `release` does nothing: the transaction releases it.
   */
  readonly connection: Connection;
}

/** A client whose transactions run on connections of a pool. */
export interface PoolClient<Connection extends PoolConnection> {
  /**
   * Does `work` in a transaction, which commits when `work` resolves and is rolled back when it rejects.
   *
   * After its timeout a transaction is rolled back, at once or when its current statement ends, and the call rejects when
   * `work` has ended. The call also rejects if a statement has failed although `work` resolves. A connection that is lost,
   * or that does not answer within 5 s after the timeout of a statement, is closed.
   *
   * @throws OutboxError `OUTBOX_TRANSACTION_ROLLED_BACK`; `OUTBOX_SERVER_UNAVAILABLE`, also if it is unknown whether the
   * transaction committed; `OUTBOX_OPTION_INVALID`; and errors of the server and of `work`
   */
  $transaction<Result>(
    work: (tx: PoolTransactionClient<Connection>) => Promise<Result>,
    options?: PoolTransactionOptions,
  ): Promise<Result>;
  /** Runs one statement with `$1`-style values, outside of any transaction, and returns its rows. */
  $queryRawUnsafe<Result = unknown>(query: string, ...values: unknown[]): Promise<Result>;
  /** Checks that a connection can be opened. Need not be called: its presence distinguishes a client from a transaction. */
  $connect(): Promise<void>;
}

const pools = shared('pools', () => new WeakMap<object, ConnectionPool>());

/**
 * Wraps a `pg` pool as a client for `consumer` and `transaction`, if you do not use Prisma.
 *
 * You own the pool: end it when nothing uses it any more. It should have as many connections as `consumer` recommends. From
 * now on a connection that ends, for example in a restart of the server, does not end the process, as it would in `pg`
 * without a listener for `error`. The pool opens new ones.
 *
 * Handlers get `tx.query` and `tx.connection`; statements that they do not await are awaited before the commit. Values are
 * returned as `pg` parses them.
 *
 * @param pool the `Pool` of `pg`, a compatible one, or that of Drizzle or Kysely
 * @throws OutboxError `OUTBOX_OPTION_INVALID` for anything else
 * @example
 * const pool = new Pool({ connectionString, max: 15 });
 * await consumer(clientOf(pool), { config, group: 'orders' })
 *   .on(orderTimeout, (tx, { payload }) => tx.query('update orders set status = $2 where id = $1', [payload.orderId, 'CANCELED']))
 *   .start();
 */
export function clientOf<Connection extends PoolConnection>(
  pool: ConnectionPool<Connection>,
): PoolClient<Connection> {
  assertPool(pool);
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

/** Whether it is such a client: its transactions reject when they were rolled back instead of committed. */
export function isPoolClient(client: object): boolean {
  return pools.has(client);
}

/** Maximum number of connections of such a client's pool; `undefined`: not such a client, or unknown. */
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
