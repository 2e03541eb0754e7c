import { z } from 'zod';
import { topic } from '../index.ts';

/** What happens to orders, in order per product: its id is the key. */
export const orderEvents = topic(
  'order-events',
  z.object({ orderId: z.uuid(), event: z.enum(['placed', 'paid', 'canceled']) }),
);

/** Arrives when the time to pay is over, unless the payment canceled it. Its ref is the id of the order. */
export const orderTimeout = topic('order-timeout', z.object({ orderId: z.uuid() }));
