import { OutboxError } from '../../core/errors.ts';

/** Runs a statement of the transaction. */
type Ask = (text: string) => PromiseLike<readonly { readonly which?: unknown }[]>;

/** Where Prisma's transactions have their client; there is no public getter. */
interface Told {
  readonly _clientVersion?: unknown;
  readonly _extensions?: {
    isEmpty?(): unknown;
    getAllQueryCallbacks?(model: '$none', operation: '$queryRawUnsafe'): unknown;
  } | null;
}

/**
 * Whether each statement of this transaction of Prisma could run in another one: extensions of queries are called for raw
 * statements, too, and the one for row level security runs each in a transaction of its own.
 */
export function mayDivert(tx: object): boolean {
  const { _clientVersion: version, _extensions: extensions }: Told = tx;
  // Not Prisma's, or one that shows its extensions in another way.
  if (extensions === undefined || extensions === null) return version !== undefined;
  if (extensions.isEmpty?.() === true) return false;
  const callbacks = extensions.getAllQueryCallbacks?.('$none', '$queryRawUnsafe');
  return !Array.isArray(callbacks) || callbacks.length > 0;
}

/**
 * Asks twice which transaction it is. An extension may decide by the request, so no transaction proves the next one.
 *
 * @throws OutboxError `OUTBOX_NOT_IN_TRANSACTION` if two statements run in two transactions
 */
export async function requireOne(ask: Ask): Promise<void> {
  const first = await whichTransaction(ask);
  const second = await whichTransaction(ask);
  if (first !== undefined && first === second) return;
  throw new OutboxError(
    'OUTBOX_NOT_IN_TRANSACTION',
    'Two statements of this transaction ran in two transactions, so a message could survive a rollback: an extension of the client (`query.$allOperations`, as for row level security) runs each statement in a transaction of its own.',
    { details: { cause: 'statements-diverted' } },
  );
}

/** Its connection and its beginning. An id would be assigned for it, also to a transaction that writes nothing. */
async function whichTransaction(ask: Ask): Promise<unknown> {
  const [row] = await ask(
    `select pg_backend_pid()::text || ' since ' || extract(epoch from transaction_timestamp())::text as which`,
  );
  return row?.which;
}
