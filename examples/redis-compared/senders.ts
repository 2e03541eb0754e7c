import { sendBatch, transaction } from 'temporal-outbox';
import type { PrismaClient } from './generated/client.ts';
import { addressOf, type connectRedis } from './kinds.ts';
import { toChannel, toList, toSlow, toStream } from './topics.ts';

/** One key, so the messages keep their order. */
const key = 'all';

/** Sends by list, channel and stream, in one transaction. */
export const send = (prisma: PrismaClient, numbers: readonly number[]) =>
  transaction(prisma, async (tx) => {
    for (const topic of [toList, toChannel, toStream])
      await sendBatch(
        tx,
        topic,
        numbers.map((number) => ({ payload: { number }, key })),
      );
  });

/** Sends by the stream whose consumer is slow. */
export const sendToSlow = (prisma: PrismaClient, numbers: readonly number[]) =>
  transaction(prisma, async (tx) => {
    const messages = numbers.map((number) => ({ payload: { number }, key }));
    await sendBatch(tx, toSlow, messages);
  });

/** Sends the same by hand. */
export async function sendByHand(
  redis: Awaited<ReturnType<typeof connectRedis>>,
  numbers: readonly number[],
) {
  for (const number of numbers) {
    await redis.lPush(addressOf('by hand', 'list'), String(number));
    await redis.publish(addressOf('by hand', 'channel'), String(number));
    await redis.xAdd(addressOf('by hand', 'stream'), '*', { number: String(number) });
  }
}
