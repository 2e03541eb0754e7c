import { consumer } from 'temporal-outbox/consumer';
import type { PrismaClient } from './generated/client.ts';
import config from './outbox.config.ts';
import { userRegistered } from './topics.ts';

/** Welcomes each user once: the row commits together with the id of the message. */
export const welcomeUsers = (prisma: PrismaClient) =>
  consumer(prisma, { config, group: 'welcome', logger: false })
    .on(userRegistered, async (tx, { payload }) => {
      await tx.welcome.create({ data: { userId: payload.userId } });
    })
    .start();
