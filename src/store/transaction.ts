import { OutboxError } from '../core/errors.ts';
import type { Sql } from './database.ts';

/**
 * The transaction in which a message is stored: the `tx` of `prisma.$transaction(async (tx) => …)`, an extended one
 * included, or what `fromQuery` makes of another database client.
 *
 * The type is structural, so the library needs no generated client. The root client is refused by the compiler and
 * at run time: a message stored through it would survive the rollback of the business data.
 */
export interface Transaction {
  $queryRawUnsafe<Result = unknown>(query: string, ...values: unknown[]): PromiseLike<Result>;
  readonly $connect?: 'Pass the tx of prisma.$transaction(async (tx) => …) instead of the client: outside a transaction a message would survive a rollback.';
}

/**
 * Makes a transaction of any client that runs SQL on PostgreSQL: pg, Drizzle, Kysely, TypeORM, Knex.
 *
 * @param query runs one statement with `$1`-style values **inside your open transaction** and answers its rows
 * @example fromQuery((text, values) => client.query(text, values).then((result) => result.rows))
 */
export function fromQuery(
  query: (text: string, values: unknown[]) => PromiseLike<readonly unknown[]>,
): Transaction {
  return {
    $queryRawUnsafe: <Result>(text: string, ...values: unknown[]) =>
      query(text, values) as unknown as PromiseLike<Result>,
  };
}

/**
 * The store's view of a transaction.
 *
 * @throws OutboxError `OUTBOX_NOT_IN_TRANSACTION` for a root client
 */
export function sqlOf(tx: Transaction): Sql {
  const candidate: { readonly $connect?: unknown; readonly $queryRawUnsafe?: unknown } | null | undefined =
    tx;
  if (typeof candidate?.$queryRawUnsafe !== 'function' || candidate.$connect !== undefined) {
    throw new OutboxError(
      'OUTBOX_NOT_IN_TRANSACTION',
      'The first argument is not an open transaction, so the message could survive a rollback.',
    );
  }
  return { query: async (text, values = []) => tx.$queryRawUnsafe(text, ...values) };
}
