import { eq, sql } from 'drizzle-orm';
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import { pgTable, text } from 'drizzle-orm/pg-core';
import type { Pool } from 'pg';
import { type ConsumerOptions, consumer, type RunningConsumer } from '../../src/consumer.ts';
import { clientOf, fromQuery, send, type Transaction, wake } from '../../src/index.ts';
import { orderPlaced, orderTimeout } from './topics.ts';

const orders = pgTable('orders', { id: text('id').notNull(), status: text('status').notNull() });

/** The transaction of Drizzle as the outbox takes it: each `$1` is a parameter of Drizzle. */
export function outboxOf(tx: Pick<NodePgDatabase, 'execute'>): Transaction {
  return fromQuery(async (statement, values) => {
    const parts = statement
      .split(/\$(\d+)/)
      .map((part, n) => (n % 2 === 0 ? sql.raw(part) : sql.param(values[Number(part) - 1])));
    const { rows } = await tx.execute(sql.join(parts));
    return rows;
  });
}

export async function placeOrder(pool: Pool, id: string): Promise<void> {
  await drizzle({ client: pool }).transaction(async (tx) => {
    await tx.insert(orders).values({ id, status: 'NEW' });
    await send(outboxOf(tx), orderPlaced, { orderId: id }, { key: id });
  });
  wake(pool);
}

export function startConsumer(pool: Pool, options: ConsumerOptions): Promise<RunningConsumer> {
  return consumer(clientOf(pool), options)
    .on(orderTimeout, (tx, { payload }) =>
      drizzle({ client: tx.connection })
        .update(orders)
        .set({ status: 'CANCELED' })
        .where(eq(orders.id, payload.orderId)),
    )
    .start();
}
