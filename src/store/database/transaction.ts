import { layersOf } from '../../core/error-layers.ts';
import { OutboxError } from '../../core/errors.ts';
import { shared } from '../../core/shared.ts';
import { checkedRows } from './answers.ts';
import type { Sql } from './database.ts';
import { foreignDatabase, requirePostgres } from './foreign-client.ts';
import { mayDivert, requireOne } from './one-transaction.ts';
import { isPrisma8, isPrisma8Transaction } from './prisma8-parts.ts';
import { statementFailure } from './statement-failure.ts';

/**
 * The transaction in which a message is stored: the `tx` of `prisma.$transaction(async (tx) => …)`, also of an extended
 * client, or another database client wrapped by `fromQuery`.
 *
 * The type is structural, so the library needs no generated client. The compiler and the library refuse the root client: a
 * message stored through it would survive the rollback of the business data.
 */
export interface Transaction {
  /** Runs one statement with `$1`-style values in the transaction, and returns its rows. */
  $queryRawUnsafe<Result = unknown>(query: string, ...values: unknown[]): PromiseLike<Result>;
  /** Only a root client has it, and is refused. */
  readonly $connect?: 'Pass the tx of prisma.$transaction(async (tx) => …) instead of the client: outside a transaction a message would survive a rollback.';
}

/** Made by `fromQuery`: they do not show whether a transaction is open, so the server is asked. */
const unproven = shared('unproven-transactions', () => new WeakSet<object>());

/**
 * Wraps a transaction of any PostgreSQL client: pg, Drizzle, Kysely, TypeORM, Knex.
 *
 * Each call of the library asks the server first whether a transaction is open, which costs a round trip.
 *
 * @param query runs one statement with `$1`-style values **inside your open transaction** and returns its rows
 * @throws OutboxError `OUTBOX_OPTION_INVALID` for anything but a function
 * @example fromQuery((text, values) => client.query(text, values).then((result) => result.rows))
 */
export function fromQuery(
  query: (text: string, values: unknown[]) => PromiseLike<readonly unknown[]>,
): Transaction {
  if (typeof query !== 'function')
    throw new OutboxError('OUTBOX_OPTION_INVALID', 'fromQuery takes a function that runs one statement.', {
      details: { option: 'query' },
    });
  const tx: Transaction = {
    $queryRawUnsafe: <Result>(text: string, ...values: unknown[]) =>
      query(text, values) as unknown as PromiseLike<Result>,
  };
  unproven.add(tx);
  return tx;
}

/**
 * The store's view of a transaction. Its queries reject with `OUTBOX_MIGRATION_MISSING` where the schema of the outbox is missing,
 * with `OUTBOX_PRIVILEGE_MISSING` where the role lacks a right to it.
 *
 * @throws OutboxError `OUTBOX_CLIENT_UNFIT` for a client of another database; `OUTBOX_NOT_IN_TRANSACTION` for a root client; with
 * `fromQuery` and no open transaction the first query rejects with it
 */
export function sqlOf(tx: Transaction): Sql {
  const candidate: { readonly $connect?: unknown; readonly $queryRawUnsafe?: unknown } | null | undefined =
    tx;
  requirePostgres(tx);
  if (typeof candidate?.$queryRawUnsafe !== 'function' || candidate.$connect !== undefined) {
    throw prisma8Unwrapped(tx) ?? notInTransaction();
  }
  const run = async <Row>(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> => {
    try {
      return checkedRows(await tx.$queryRawUnsafe<readonly Row[]>(text, ...values));
    } catch (error) {
      throw statementFailure(error) ?? error;
    }
  };
  const isAsked = unproven.has(tx);
  if (!isAsked && !mayDivert(tx)) return { query: run };
  let proven: Promise<void> | undefined;
  return {
    async query(text, values) {
      await (proven ??= isAsked ? requireOpen(tx) : proofOf(tx));
      return run(text, values);
    },
  };
}

/** By transaction, so that it is proven once for all that is stored in it. */
const proofs = shared('transaction-proofs', () => new WeakMap<object, Promise<void>>());

function proofOf(tx: Transaction): Promise<void> {
  const known = proofs.get(tx);
  if (known !== undefined) return known;
  const proof = requireOne((text) => tx.$queryRawUnsafe(text));
  // Whoever asks hears of it.
  proof.catch(() => undefined);
  proofs.set(tx, proof);
  return proof;
}

/**
 * Refuses a transaction whose statements run in others, before any of its work: what the work writes would survive a rollback,
 * too. Costs nothing unless an extension of its client is called for each statement.
 *
 * @throws OutboxError `OUTBOX_NOT_IN_TRANSACTION`
 */
export async function requireUndiverted(tx: unknown): Promise<void> {
  if (typeof tx !== 'object' || tx === null || !('$queryRawUnsafe' in tx) || !mayDivert(tx)) return;
  await proofOf(tx as Transaction);
}

/**
 * A function cannot see whether its calling statement is a transaction of its own, but PostgreSQL refuses a lock that would
 * end with its statement. This lock is harmless: every writer reads the table anyway.
 */
async function requireOpen(tx: Transaction): Promise<void> {
  try {
    await tx.$queryRawUnsafe('lock table outbox.installation in access share mode');
  } catch (error) {
    if (saysNoTransaction(error)) throw notInTransaction(error);
    throw statementFailure(error) ?? foreignDatabase(error) ?? error;
  }
}

/** Clients wrap the server's error. */
function saysNoTransaction(error: unknown): boolean {
  return layersOf(error).some(({ code }) => code === '25P01');
}

/** Both are objects of Prisma 8, which the library cannot ask. */
function prisma8Unwrapped(given: unknown): OutboxError | undefined {
  const isClient = isPrisma8(given);
  if (!isClient && !isPrisma8Transaction(given)) return undefined;
  const what = isClient ? 'client' : 'transaction';
  return new OutboxError(
    'OUTBOX_NOT_IN_TRANSACTION',
    `The first argument is a ${what} of Prisma 8: open the transaction with transaction(prisma8(db), async (tx) => …), and pass its tx.`,
  );
}

function notInTransaction(cause?: unknown): OutboxError {
  return new OutboxError(
    'OUTBOX_NOT_IN_TRANSACTION',
    'The first argument is not an open transaction, so the message could survive a rollback.',
    { cause },
  );
}
