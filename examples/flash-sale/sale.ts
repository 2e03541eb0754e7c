import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createClient } from '@redis/client';

const script = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8');
const [sell, putBack] = [script('sale.lua'), script('return.lua')];

/** A command that waits a while in a busy process has not failed. */
export const connectRedis = () =>
  createClient({ url: process.env['REDIS_URL'] ?? '', commandOptions: { timeout: 60_000 } }).connect();
export type Redis = Awaited<ReturnType<typeof connectRedis>>;

/** The sale of one voucher: what Redis knows of it. */
export const saleOf = (voucherId: string) => ({
  voucherId,
  stock: `flash-sale:${voucherId}:stock`,
  buyers: `flash-sale:${voucherId}:buyers`,
  orders: `flash-sale:${voucherId}:stream.orders`,
});
export type Sale = ReturnType<typeof saleOf>;

/** Answers at once: the id of the order, which is stored a moment later, or why there is none. */
export async function buy(redis: Redis, sale: Sale, userId: string) {
  const orderId = randomUUID();
  const keys = [sale.stock, sale.buyers, sale.orders];
  const answer = await redis.eval(sell, { keys, arguments: [userId, sale.voucherId, orderId] });
  if (answer === 0) return { orderId };
  return { refused: answer === 1 ? 'sold out' : 'already bought' } as const;
}

/** Puts the piece of a canceled order back; a repeat changes nothing. */
export async function giveBack(redis: Redis, sale: Sale, userId: string, orderId: string): Promise<boolean> {
  const keys = [sale.stock, sale.buyers];
  return (await redis.eval(putBack, { keys, arguments: [userId, orderId] })) === 1;
}
