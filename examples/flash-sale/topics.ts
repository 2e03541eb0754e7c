import { topic } from 'temporal-outbox';
import { z } from 'zod';
import { saleOf } from './sale.ts';

const order = z.object({ orderId: z.uuid(), userId: z.string(), voucherId: z.string() });

/** Added by the Lua script, not by an outbox. */
export const purchased = topic('purchased', order, { address: saleOf('voucher').orders });

export const orderCreated = topic('order-created', order, { address: 'flash-sale:order-created' });

/** Due 15 minutes after the order, unless the payment cancels it. A sale has many that are due in one second. */
export const paymentDue = topic('payment-due', order, { address: 'flash-sale:payment-due', timer: 'lane' });

export const orderCanceled = topic('order-canceled', order, { address: 'flash-sale:order-canceled' });
