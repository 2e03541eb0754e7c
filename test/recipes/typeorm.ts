import type { Pool } from 'pg';
import { type DataSource, type EntityManager, EntitySchema } from 'typeorm';
import { type ConsumerOptions, consumer, type RunningConsumer } from '../../src/consumer.ts';
import { clientOf, fromQuery, send, type Transaction, wake } from '../../src/index.ts';
import { orderPlaced, orderTimeout } from './topics.ts';

export const orders = new EntitySchema<{ id: string; status: string }>({
  name: 'orders',
  columns: { id: { type: 'text', primary: true }, status: { type: 'text' } },
});

/** The transaction of TypeORM as the outbox takes it. */
export function outboxOf(manager: EntityManager): Transaction {
  return fromQuery((text, values) => manager.query<unknown[]>(text, values));
}

export async function placeOrder(dataSource: DataSource, id: string): Promise<void> {
  await dataSource.transaction(async (manager) => {
    await manager.insert(orders, { id, status: 'NEW' });
    await send(outboxOf(manager), orderPlaced, { orderId: id }, { key: id });
  });
  wake(dataSource);
}

/** TypeORM has no way to work on a connection of somebody else, so the consumer has a pool of its own. */
export function startConsumer(pool: Pool, options: ConsumerOptions): Promise<RunningConsumer> {
  return consumer(clientOf(pool), options)
    .on(orderTimeout, (tx, { payload }) =>
      tx.query('update orders set status = $2 where id = $1', [payload.orderId, 'CANCELED']),
    )
    .start();
}
