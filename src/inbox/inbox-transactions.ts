import { OutboxError } from '../core/errors.ts';
import { startTimer } from '../core/timer.ts';
import { endIfReadOnly, saysReadOnly } from '../store/database/bad-session.ts';
import type { Sql, Transactions } from '../store/database/database.ts';
import { connectionsOf, isPoolClient } from '../store/database/pool-client.ts';
import { isPrisma8Client } from '../store/database/prisma8.ts';
import { sqlOf, type Transaction } from '../store/database/transaction.ts';
import { limitIdle, shortestIdleMs, type TransactionLimits } from '../store/inbox/receive.ts';
import { longestTransactionMs } from './consumer-options.ts';
import type { TransactionClient } from './transaction-client.ts';

/** How long a transaction waits for a connection of the pool, which many consumers and drains may share. */
const maxWaitMs = 30_000;
/** Prisma's default, if neither the consumer nor the client sets another. */
const usualLimitMs = 5_000;
/** The default pool size of pg. */
const poolOfPg = 10;
/** Prisma rolls back at its limit; work that still runs this long after it will not end by itself. */
const graceMs = 5_000;

/** After the last session that was read-only. Others of the pool may be so, too. */
const doubtMs = 60_000;

/** Milliseconds. */
interface Limits {
  /** Wait for a connection. */
  readonly maxWait?: number;
  /** Time for all of the work. @defaultValue the consumer's limit */
  readonly timeout?: number;
}

/**
 * The client as the inbox uses it: READ COMMITTED, because it must see what another transaction has just committed, and
 * with a limit even for work that never settles. The client itself rolls such a transaction back, but keeps waiting for
 * the work. It cannot end a statement that is running; the server does, by {@link limits}.
 */
export class InboxTransactions<Tx extends Transaction> implements TransactionClient<Tx> {
  readonly #client: TransactionClient<Tx>;
  readonly #timeoutMs: number;
  /** To be set at the beginning of each transaction that waits for others, or runs a handler. */
  readonly limits: TransactionLimits;
  /** Whether it rejects when a transaction was rolled back instead of committed; Prisma resolves. */
  readonly checksCommits: boolean;
  /**
   * Until then each transaction looks whether its session may write. The pool need not be ours, so nothing else ends the sessions
   * that began while the database was read-only, and each of them would fail what it is given.
   */
  #doubtfulUntilMs = 0;
  /** Setting the isolation level costs a round trip, so it is set only if the default differs. */
  #nameLevel = false;

  /** @param timeoutMs @defaultValue the client's */
  constructor(client: TransactionClient<Tx>, timeoutMs: number | undefined) {
    this.#client = client;
    this.checksCommits = isPoolClient(client) || isPrisma8Client(client);
    this.#timeoutMs = Math.min(timeoutMs ?? limitOf(client) ?? usualLimitMs, longestTransactionMs);
    // A transaction that may take longer may also be idle for longer.
    this.limits = { idleMs: Math.max(shortestIdleMs, this.#timeoutMs), statementMs: this.#timeoutMs };
  }

  /** To be called once, before any other transaction. @param asked the same client, or one that waits for its database */
  async learnLevel(asked: TransactionClient<Tx> = this.#client): Promise<void> {
    const level = await asked.$transaction(async (tx) => {
      const [row] = await sqlOf(tx).query<{ level: string }>(
        `select current_setting('transaction_isolation') as level`,
      );
      return row?.level;
    });
    this.#nameLevel = level !== 'read committed';
  }

  /** @throws OutboxError `OUTBOX_HANDLER_STUCK`; and whatever the client and `work` throw */
  async $transaction<Result>(
    work: (tx: Tx) => Promise<Result>,
    { maxWait = maxWaitMs, timeout: timeoutMs = this.#timeoutMs }: Limits = {},
  ): Promise<Result> {
    const limitMs = timeoutMs + graceMs;
    let timer: NodeJS.Timeout | undefined;
    // Counted from when the work begins: the wait for a connection has a limit of its own.
    let begun: () => void = () => undefined;
    const stuck = new Promise<never>((_, reject) => {
      begun = () => {
        timer = startTimer(() => reject(stuckError(limitMs, this.limits)), limitMs);
      };
    });
    try {
      return await Promise.race([
        this.#client.$transaction(
          async (tx) => {
            begun();
            if (performance.now() < this.#doubtfulUntilMs) await endIfReadOnly(sqlOf(tx));
            return work(tx);
          },
          {
            maxWait,
            timeout: timeoutMs,
            ...(this.#nameLevel && { isolationLevel: 'ReadCommitted' }),
          },
        ),
        stuck,
      ]);
    } catch (error) {
      if (saysReadOnly(error)) this.#doubtfulUntilMs = performance.now() + doubtMs;
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }
}

/** For a page of a bulk operation, which may change a thousand messages: the server's limits are the same. */
const pageLimitMs = 30_000;

/** Transactions of the inbox itself, without a handler. */
export function transactionsOf<Tx extends Transaction>(client: InboxTransactions<Tx>): Transactions {
  const transaction = <Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> =>
    client.$transaction(
      async (tx) => {
        const sql = sqlOf(tx);
        await limitIdle(sql);
        return work(sql);
      },
      { timeout: pageLimitMs },
    );
  return { transaction, query: (text, values) => transaction((sql) => sql.query(text, values)) };
}

/** The options of a Prisma client, for which it has no public getter. */
interface Told {
  readonly _engineConfig?: {
    readonly transactionOptions?: { readonly timeout?: unknown };
    readonly adapter?: {
      readonly adapterName?: unknown;
      readonly config?: { readonly max?: unknown };
      readonly externalPool?: { readonly options?: { readonly max?: unknown } } | null;
    };
  };
}

/** How long a transaction of the client may take; `undefined`: not set. */
export function limitOf(client: object): number | undefined {
  const told: Told = client;
  // oxlint-disable-next-line no-underscore-dangle -- Prisma's name
  const timeout = told._engineConfig?.transactionOptions?.timeout;
  return typeof timeout === 'number' && timeout > 0 ? timeout : undefined;
}

/** Maximum number of the client's connections; `undefined`: unknown. */
export function poolSizeOf(client: object): number | undefined {
  const told: Told = client;
  // oxlint-disable-next-line no-underscore-dangle -- as above
  const adapter = told._engineConfig?.adapter;
  if (adapter?.adapterName !== '@prisma/adapter-pg') return connectionsOf(client);
  const max = adapter.externalPool?.options?.max ?? adapter.config?.max ?? poolOfPg;
  return typeof max === 'number' ? max : undefined;
}

function stuckError(limitMs: number, { statementMs }: TransactionLimits): OutboxError {
  return new OutboxError(
    'OUTBOX_HANDLER_STUCK',
    `A handler has not ended ${inSeconds(limitMs)} s after its transaction began. It is rolled back: at once, or when its statement ends, which is given ${inSeconds(statementMs)} s.`,
  );
}

function inSeconds(ms: number): number {
  return Math.round(ms / 1_000);
}
