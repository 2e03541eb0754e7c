import { topic } from 'temporal-outbox';
import { z } from 'zod';

/** The address is the exchange. Two retries, so that a message that nobody takes soon needs a person. */
export const orderPlaced = topic('order-placed', z.object({ orderId: z.uuid(), item: z.string() }), {
  address: 'reliable-rabbitmq.orders',
  retry: ['100ms', '200ms'],
});

/** For a person: a message that has failed, and why. */
export const personTold = topic('person-told', z.object({ failedId: z.uuid(), error: z.string() }), {
  address: 'reliable-rabbitmq.persons',
});
