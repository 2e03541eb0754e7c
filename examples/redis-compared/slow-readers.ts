import { once } from 'node:events';
import { consumer } from 'temporal-outbox/consumer';
import { start, until } from './faults.ts';
import type { PrismaClient } from './generated/client.ts';
import { connectRedis, slow } from './kinds.ts';
import config from './outbox.config.ts';
import { sendToSlow } from './senders.ts';
import { toSlow } from './topics.ts';

type Redis = Awaited<ReturnType<typeof connectRedis>>;

const numbers = Array.from({ length: 10 }, (_, index) => index + 1);

/** Ten messages, nine of which come while the reader handles the first; twice. Answers how many of the 20 `XREAD … $` skips. */
export async function skippedByXread(redis: Redis): Promise<number> {
  const reader = await connectRedis();
  const id = String(await reader.clientId());
  const waits = async () =>
    /\bcmd=xread\b/.test(String(await redis.sendCommand(['CLIENT', 'LIST', 'ID', id])));
  let received = 0;
  for (let round = 0; round < 2; round += 1) {
    const read = reader.xRead({ key: slow.stream, id: '$' }, { BLOCK: 60_000 });
    await until(waits);
    await redis.xAdd(slow.stream, '*', { number: '1' });
    received += ((await read) as unknown as { messages: unknown[] }[])[0]?.messages.length ?? 0;
    // It handles what it has read. Then `$` means: what is added from now on.
    for (const number of numbers.slice(1)) await redis.xAdd(slow.stream, '*', { number: String(number) });
  }
  reader.destroy();
  return 2 * numbers.length - received;
}

/** The same ten messages here, with a consumer that has the first in hand until all are in the stream. */
export async function skippedHere(prisma: PrismaClient, redis: Redis): Promise<number> {
  const handled = new Set<number>();
  const running = await consumer(prisma, { config, group: 'slow', logger: false })
    .on(toSlow, async (_tx, { payload: { number } }) => {
      await until(async () => (await redis.xLen(toSlow.rules.address)) === numbers.length);
      handled.add(number);
    })
    .start();
  await sendToSlow(prisma, numbers);
  await until(async () => (await running.status()).lag === 0 && handled.has(numbers.length));
  await running.stop();
  return numbers.length - handled.size;
}

/** Publishes to a subscriber that stands still, until Redis cuts it off: its output buffer is full, at 32 MB by default. */
export async function overflow(redis: Redis) {
  const subscriber = await start('slow-subscriber.ts', 'none');
  const megabyte = 'x'.repeat(1024 * 1024);
  let sent = 0;
  while ((await redis.publish(slow.channel, `${sent} ${megabyte}`)) === 1) {
    sent += 1;
    if (sent === 1_000) throw new Error('This Redis does not limit the output buffers of subscribers.');
  }
  subscriber.kill('SIGCONT');
  await until(async () => Number((await redis.pubSubNumSub([slow.channel]))[slow.channel]) === 1);
  const answered = once(subscriber, 'message');
  await redis.publish(slow.channel, 'end');
  const [received] = await answered;
  subscriber.kill('SIGTERM');
  return { sent, lost: sent - received.length };
}
