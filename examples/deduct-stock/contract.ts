// What both services agree on: two messages, their addresses, and the secret that they sign with.
import { env, topic } from 'temporal-outbox';
import { z } from 'zod';

export const inventoryPort = 27_151;
export const shopPort = 27_152;
export const mailerPort = 27_153;
export const secret = env('DEDUCT_STOCK_SECRET', 'whsec_b25seSBmb3IgdGhpcyBleGFtcGxlLCBub3QgZm9yIHlvdXJz');

export const Deduct = z.object({ orderId: z.uuid(), sku: z.string(), quantity: z.int().positive() });
/** To the inventory. Three tries, so that what the inventory cannot answer soon needs a person. */
export const deductStock = topic('deduct-stock', Deduct, {
  address: `http://127.0.0.1:${inventoryPort}/deduct`,
  retry: ['100ms', '200ms'],
});

export const Answer = z.object({ orderId: z.uuid(), result: z.enum(['deducted', 'not-enough']) });
/** Back to the shop: what became of it. */
export const stockAnswered = topic('stock-answered', Answer, {
  address: `http://127.0.0.1:${shopPort}/stock-answers`,
});

export const PersonTold = z.object({ failedId: z.uuid(), error: z.string() });
/** Within the shop, for a person: a message that has failed, and why. */
export const personTold = topic('person-told', PersonTold, {
  address: `http://127.0.0.1:${mailerPort}/persons`,
});
