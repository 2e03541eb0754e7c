import { OutboxError } from '../../core/errors.ts';
import type { Sql } from './database.ts';

/**
 * The transaction in which a message is stored: the `tx` of `prisma.$transaction(async (tx) => …)`, an extended one
 * included, or what `fromQuery` makes of another database client.
 *
 * The type is structural, so the library needs no generated client. The root client is refused by the compiler and
 * at run time: a message stored through it would survive the rollback of the business data.
 */
export interface Transaction {
  /** Runs one statement with `$1`-style values in the transaction, and answers its rows. */
  $queryRawUnsafe<Result = unknown>(query: string, ...values: unknown[]): PromiseLike<Result>;
  /** Only a root client has it, which is refused. */
  readonly $connect?: 'Pass the tx of prisma.$transaction(async (tx) => …) instead of the client: outside a transaction a message would survive a rollback.';
}

/** Made by `fromQuery`: nothing about them tells whether a transaction is open, so the server is asked. */
const unproven = new WeakSet<Transaction>();

/**
 * Makes a transaction of any client that runs SQL on PostgreSQL: pg, Drizzle, Kysely, TypeORM, Knex.
 *
 * Each call of the library asks the server first whether a transaction is open, which costs a round trip.
 *
 * @param query runs one statement with `$1`-style values **inside your open transaction** and answers its rows
 * @example fromQuery((text, values) => client.query(text, values).then((result) => result.rows))
 */
export function fromQuery(
  query: (text: string, values: unknown[]) => PromiseLike<readonly unknown[]>,
): Transaction {
  const tx: Transaction = {
    $queryRawUnsafe: <Result>(text: string, ...values: unknown[]) =>
      query(text, values) as unknown as PromiseLike<Result>,
  };
  unproven.add(tx);
  return tx;
}

/**
 * The store's view of a transaction.
 *
 * @throws OutboxError `OUTBOX_NOT_IN_TRANSACTION` for a root client; for a `fromQuery` without an open transaction its
 * first query rejects with it
 */
export function sqlOf(tx: Transaction): Sql {
  const candidate: { readonly $connect?: unknown; readonly $queryRawUnsafe?: unknown } | null | undefined =
    tx;
  if (typeof candidate?.$queryRawUnsafe !== 'function' || candidate.$connect !== undefined) {
    throw notInTransaction();
  }
  const run = async <Row>(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> =>
    tx.$queryRawUnsafe(text, ...values);
  if (!unproven.has(tx)) return { query: run };
  let open: Promise<unknown> | undefined;
  return {
    async query(text, values) {
      await (open ??= requireOpen(tx));
      return run(text, values);
    },
  };
}

/**
 * No function can see whether the statement that calls it is a transaction of its own; but PostgreSQL refuses a lock that
 * would end with its statement. This one locks out only what every writer reads anyway.
 */
async function requireOpen(tx: Transaction): Promise<void> {
  try {
    await tx.$queryRawUnsafe('lock table outbox.installation in access share mode');
  } catch (error) {
    throw saysNoTransaction(error) ? notInTransaction(error) : error;
  }
}

/** Clients wrap what the server said. */
function saysNoTransaction(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  if ('code' in error && error.code === '25P01') return true;
  return ['cause', 'driverError', 'original'].some(
    (name) => name in error && saysNoTransaction(Reflect.get(error, name)),
  );
}

function notInTransaction(cause?: unknown): OutboxError {
  return new OutboxError(
    'OUTBOX_NOT_IN_TRANSACTION',
    'The first argument is not an open transaction, so the message could survive a rollback.',
    { cause },
  );
}
