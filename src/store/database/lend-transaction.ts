import { OutboxError } from '../../core/errors.ts';
import { late, orLate } from '../../core/or-late.ts';
import type { Sql } from './database.ts';
import { trustRoleLocally } from './own-names.ts';
import { fromQuery, type Transaction } from './transaction.ts';

const hookWithinMs = 30_000;

/**
 * Lends a transaction to a hook. It finds names as the role does, and refuses statements when the work is over: its connection
 * serves others then.
 *
 * @param hook its name, for errors
 */
export async function lendTo(
  hook: string,
  work: (tx: Transaction) => PromiseLike<unknown>,
  sql: Sql,
): Promise<void> {
  await sql.query(trustRoleLocally);
  let over = false;
  const tx = fromQuery(async (text, values) => {
    if (over) throw new OutboxError('OUTBOX_NOT_IN_TRANSACTION', `The call of ${hook} is over.`);
    return sql.query(text, values);
  });
  try {
    if ((await orLate(Promise.resolve(work(tx)), hookWithinMs)) === late)
      throw new Error(`${hook} has not ended within ${hookWithinMs / 1_000} s.`);
  } finally {
    over = true;
  }
}
