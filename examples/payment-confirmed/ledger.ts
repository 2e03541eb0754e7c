import { PrismaPg } from '@prisma/adapter-pg';
import { type Consumer, type ConsumerSettings, consumer } from 'temporal-outbox/consumer';
import { type Prisma, PrismaClient } from './generated/ledger/client.ts';
import config from './outbox.config.ts';
import { paymentMade } from './topics.ts';

/** Another database than that of the payments, with an outbox schema of its own for what was processed. */
export const ledgerDatabase = (): PrismaClient =>
  new PrismaClient({
    adapter: new PrismaPg({ connectionString: process.env['LEDGER_DATABASE_URL'], max: 15 }),
  });

/** Books each payment once; the receipt goes out after the commit. */
export const ledger = (
  prisma: PrismaClient,
  {
    transports = config.transports,
    ...settings
  }: Partial<ConsumerSettings & Pick<typeof config, 'transports'>> = {},
): Consumer<Prisma.TransactionClient> =>
  consumer(prisma, {
    ...settings,
    config: { ...config, transports },
    group: 'payment-confirmed',
    logger: false,
  }).on(paymentMade, (tx, { payload }) => tx.entry.create({ data: { paymentId: payload.paymentId } }));
