import type { Pool } from 'pg';
import { type ConsumerOptions, consumer, type RunningConsumer } from '../../src/consumer.ts';
import { clientOf, send, transaction } from '../../src/index.ts';
import { orderPlaced, orderTimeout } from './topics.ts';

export async function placeOrder(pool: Pool, id: string): Promise<void> {
  await transaction(clientOf(pool), async (tx) => {
    await tx.query('insert into orders (id, status) values ($1, $2)', [id, 'NEW']);
    await send(tx, orderPlaced, { orderId: id }, { key: id });
  });
}

export function startConsumer(pool: Pool, options: ConsumerOptions): Promise<RunningConsumer> {
  return consumer(clientOf(pool), options)
    .on(orderTimeout, (tx, { payload }) =>
      tx.query('update orders set status = $2 where id = $1', [payload.orderId, 'CANCELED']),
    )
    .start();
}
