import { z } from 'zod';
import { topic } from '../../src/index.ts';

/** Order events, in order per product: the key is the product id. */
export const orderEvents = topic(
  'order-events',
  z.object({ orderId: z.uuid(), event: z.enum(['placed', 'paid', 'canceled']) }),
);

/** Delivered when the time to pay is up, unless the payment canceled it. Its ref is the order id. */
export const orderTimeout = topic('order-timeout', z.object({ orderId: z.uuid() }));
