// What both services agree on: two messages. The Java side reads and writes the same JSON.
import { topic } from 'temporal-outbox';
import { z } from 'zod';

export const deductStock = topic(
  'deduct-stock',
  z.object({ orderId: z.uuid(), sku: z.string(), quantity: z.int().positive() }),
);
export const stockAnswered = topic(
  'stock-answered',
  z.object({ orderId: z.uuid(), result: z.enum(['deducted', 'not-enough']) }),
);
