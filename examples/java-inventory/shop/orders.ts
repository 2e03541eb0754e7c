import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { clientOf, send, transaction } from 'temporal-outbox';
import { consumer } from 'temporal-outbox/consumer';
import { deductStock, stockAnswered } from '../contract.ts';
import config from './outbox.config.ts';

/** Stores the order and the message to the inventory together. */
export async function placeOrder(pool: Pool, sku: string): Promise<void> {
  const orderId = randomUUID();
  await transaction(clientOf(pool), async (tx) => {
    await tx.query('insert into orders (id, sku, quantity) values ($1, $2, 1)', [orderId, sku]);
    await send(tx, deductStock, { orderId, sku, quantity: 1 }, { key: orderId });
  });
}

/** An order waits for the answer of the inventory, which may be a refusal. */
export const takeAnswers = (pool: Pool) =>
  consumer(clientOf(pool), { config, group: 'shop', logger: false })
    .on(stockAnswered, async (tx, { payload: { orderId, result } }) => {
      const status = result === 'deducted' ? 'CONFIRMED' : 'REJECTED';
      await tx.query('update orders set status = $2 where id = $1', [orderId, status]);
    })
    .start();
