import { OutboxError } from '../core/errors.ts';
import type { Sql, Transactions } from '../store/database/database.ts';
import { connectionsOf } from '../store/database/pool-client.ts';
import { sqlOf, type Transaction } from '../store/database/transaction.ts';
import { limitIdle, shortestIdleMs, type TransactionLimits } from '../store/inbox/receive.ts';
import type { TransactionClient } from './transaction-client.ts';

/** For as long a transaction waits for a connection of the pool: many consumers and drains may share few. */
const maxWaitMs = 30_000;
/** Prisma's own, where neither consumer nor client has another. */
const usualLimitMs = 5_000;
/** Connections of a pool of pg for which nobody says how many. */
const poolOfPg = 10;
/** Prisma rolls back at its limit; only work that does not end by itself is left after this. */
const graceMs = 5_000;

/** Milliseconds. */
interface Limits {
  /** For a connection. */
  readonly maxWait?: number;
  /** For all of its work. @defaultValue the consumer's limit */
  readonly timeout?: number;
}

/**
 * The client as the inbox uses it: READ COMMITTED, because what another transaction has just committed must be seen, and
 * with an end also for work that never settles. The client itself rolls such a transaction back, but goes on to wait for it.
 * What it cannot end, the statement that runs meanwhile, the server does: by {@link limits}.
 */
export class InboxTransactions<Tx extends Transaction> implements TransactionClient<Tx> {
  readonly #client: TransactionClient<Tx>;
  readonly #timeoutMs: number;
  /** What is to be set at the beginning of each transaction that waits for others, or runs a handler. */
  readonly limits: TransactionLimits;
  /** Naming the level costs a round trip, so it is done only where the default is another. */
  #nameLevel = false;

  /** @param timeoutMs @defaultValue that of the client */
  constructor(client: TransactionClient<Tx>, timeoutMs: number | undefined) {
    this.#client = client;
    this.#timeoutMs = timeoutMs ?? limitOf(client) ?? usualLimitMs;
    // A transaction that is allowed to take longer may be silent for longer.
    this.limits = { idleMs: Math.max(shortestIdleMs, this.#timeoutMs), statementMs: this.#timeoutMs };
  }

  /** To be called once, before any other transaction. */
  async learnLevel(): Promise<void> {
    const level = await this.#client.$transaction(async (tx) => {
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
    // From when the work begins: until then it waits for a connection, which has a limit of its own.
    let begun: () => void = () => undefined;
    const stuck = new Promise<never>((_, reject) => {
      begun = () => {
        timer = setTimeout(() => reject(stuckError(limitMs, this.limits)), limitMs);
      };
    });
    try {
      return await Promise.race([
        this.#client.$transaction(
          (tx) => {
            begun();
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

/** What a Prisma client was told; it has no public way to ask. */
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

/** How long a transaction of the client may take; `undefined`: it was told nothing. */
export function limitOf(client: object): number | undefined {
  const told: Told = client;
  // oxlint-disable-next-line no-underscore-dangle -- there is no other name for it
  const timeout = told._engineConfig?.transactionOptions?.timeout;
  return typeof timeout === 'number' && timeout > 0 ? timeout : undefined;
}

/** How many connections the client has at most; `undefined`: that is not known of it. */
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
