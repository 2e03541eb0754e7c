import { topic } from 'temporal-outbox';
import { z } from 'zod';

export const orderTimeout = topic('order-timeout', z.object({ orderId: z.uuid() }));
