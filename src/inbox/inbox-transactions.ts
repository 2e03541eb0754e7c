import { OutboxError } from '../core/errors.ts';
import { sqlOf, type Transaction } from '../store/transaction.ts';
import type { TransactionClient } from './transaction-client.ts';

/** For as long a transaction waits for a connection of the pool: many consumers and drains may share few. */
const maxWaitMs = 30_000;
/** Without a limit of the consumer's own, the client's applies, which is not known here; it is 5 s by default. */
const unknownLimitMs = 60_000;
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
 * with an end also for work that never settles. Prisma itself rolls such a transaction back, but goes on to wait for it.
 */
export class InboxTransactions<Tx extends Transaction> implements TransactionClient<Tx> {
  readonly #client: TransactionClient<Tx>;
  readonly #timeoutMs: number | undefined;
  /** Naming the level costs a round trip, so it is done only where the default is another. */
  #nameLevel = false;

  constructor(client: TransactionClient<Tx>, timeoutMs: number | undefined) {
    this.#client = client;
    this.#timeoutMs = timeoutMs;
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
    const limitMs = (timeoutMs ?? unknownLimitMs) + graceMs;
    let timer: NodeJS.Timeout | undefined;
    // From when the work begins: until then it waits for a connection, which has a limit of its own.
    let begun: () => void = () => undefined;
    const stuck = new Promise<never>((_, reject) => {
      begun = () => {
        timer = setTimeout(() => reject(stuckError(limitMs)), limitMs);
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
            ...(timeoutMs !== undefined && { timeout: timeoutMs }),
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

function stuckError(limitMs: number): OutboxError {
  return new OutboxError(
    'OUTBOX_HANDLER_STUCK',
    `A handler has not ended ${Math.round(limitMs / 1_000)} s after its transaction began, which is rolled back.`,
  );
}
