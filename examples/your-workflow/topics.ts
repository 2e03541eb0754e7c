import { topic } from 'temporal-outbox';
import { z } from 'zod';

const Order = z.object({ orderId: z.uuid() });
/** Starts the workflow of the order. */
export const orderPlaced = topic('order-placed', Order, { transport: 'start' });
/** Signals it. */
export const orderPaid = topic('order-paid', Order, { transport: 'paid' });
