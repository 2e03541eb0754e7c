import type { Knex } from 'knex';
import type { Pool } from 'pg';
import { type ConsumerOptions, consumer, type RunningConsumer } from '../../src/consumer.ts';
import { clientOf, fromQuery, send, wake } from '../../src/index.ts';
import { orderPlaced, orderTimeout } from './topics.ts';

/** Knex, or its transaction, as the outbox asks it: with `?` for each `$1`, and the values in the order of their places. */
export function queryOf(knex: Knex): (text: string, values: readonly unknown[]) => Promise<unknown[]> {
  return async (text, values) => {
    const bindings: Knex.RawBinding[] = [];
    const places = text.replaceAll('?', String.raw`\?`).replaceAll(/\$(\d+)/g, (_, n) => {
      bindings.push(values[Number(n) - 1] as Knex.RawBinding);
      return '?';
    });
    const { rows } = await knex.raw<{ rows: unknown[] }>(places, bindings);
    return rows;
  };
}

/** @param query `queryOf(knex)`: the same one each time, so that many wakes at once are one */
export async function placeOrder(knex: Knex, query: ReturnType<typeof queryOf>, id: string): Promise<void> {
  await knex.transaction(async (trx) => {
    await trx('orders').insert({ id, status: 'NEW' });
    await send(fromQuery(queryOf(trx)), orderPlaced, { orderId: id }, { key: id });
  });
  wake(query);
}

/** The pool of Knex is its own; the consumer has another one, on whose connections Knex works. */
export function startConsumer(pool: Pool, knex: Knex, options: ConsumerOptions): Promise<RunningConsumer> {
  return consumer(clientOf(pool), options)
    .on(orderTimeout, async (tx, { payload }) => {
      const order = knex('orders').where({ id: payload.orderId });
      await order.update({ status: 'CANCELED' }).connection(tx.connection);
    })
    .start();
}
