import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from './generated/client.ts';

/** The limits are long, for a busy machine. */
export const connect = (): PrismaClient =>
  new PrismaClient({
    adapter: new PrismaPg(process.env['DATABASE_URL'] ?? ''),
    transactionOptions: { maxWait: 20_000, timeout: 20_000 },
  });
