import { CompiledQuery, Kysely, PostgresDialect } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { type ConsumerOptions, consumer, type RunningConsumer } from '../../src/consumer.ts';
import { clientOf, fromQuery, send, type Transaction, wake } from '../../src/index.ts';
import { orderPlaced, orderTimeout } from './topics.ts';

export interface Tables {
  orders: { id: string; status: string };
}

/** The transaction of Kysely as the outbox takes it. */
export function outboxOf(trx: Kysely<Tables>): Transaction {
  return fromQuery(async (text, values) => {
    const { rows } = await trx.executeQuery(CompiledQuery.raw(text, values));
    return rows;
  });
}

export async function placeOrder(pool: Pool, id: string): Promise<void> {
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  await db.transaction().execute(async (trx) => {
    await trx.insertInto('orders').values({ id, status: 'NEW' }).execute();
    await send(outboxOf(trx), orderPlaced, { orderId: id }, { key: id });
  });
  wake(pool);
}

/** Kysely on the one connection of a transaction that it neither begins nor ends. */
function on(connection: PoolClient): Kysely<Tables> {
  const pool = { connect: async () => connection, end: async () => undefined };
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
}

export function startConsumer(pool: Pool, options: ConsumerOptions): Promise<RunningConsumer> {
  return consumer(clientOf(pool), options)
    .on(orderTimeout, (tx, { payload }) =>
      on(tx.connection)
        .updateTable('orders')
        .set({ status: 'CANCELED' })
        .where('id', '=', payload.orderId)
        .execute(),
    )
    .start();
}
