import { consumer } from 'temporal-outbox/consumer';
import { meet, started } from './faults.ts';
import { addressOf, connect, connectRedis } from './kinds.ts';
import config from './outbox.config.ts';
import { toList, toStream } from './topics.ts';

const prisma = connect();
const side = 'here';

// A list and a stream: each message once.
const running = await consumer(prisma, { config, group: 'compared', logger: false })
  .on(toList, async (tx, { payload: { number } }) => {
    await tx.effect.create({ data: { side, kind: 'list', number } });
  })
  .on(toStream, async (tx, { payload: { number } }) => {
    await tx.effect.create({ data: { side, kind: 'stream', number } });
  })
  .use(async ({ messages: [{ payload }] }, next) => {
    const { number } = payload as { number: number };
    await meet('before the effect', number);
    await next();
    await meet('before the acknowledgement', number);
  })
  .start();

// A channel has nothing to acknowledge, so any subscriber will do: at most once.
const redis = await connectRedis();
await redis.subscribe(addressOf(side, 'channel'), async (text) => {
  const { number } = JSON.parse(JSON.parse(text).payload);
  await meet('before the effect', number);
  await prisma.effect.create({ data: { side, kind: 'channel', number } });
  await meet('before the acknowledgement', number);
});

process.once('SIGTERM', async () => {
  redis.destroy();
  await running.stop();
  await prisma.$disconnect();
});
started();
