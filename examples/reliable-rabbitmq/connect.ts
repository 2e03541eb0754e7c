import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from './generated/client.ts';

/** A client with enough connections for a consumer. Its limits are long, because one order of the story waits for another. */
export const connect = (): PrismaClient =>
  new PrismaClient({
    adapter: new PrismaPg({ connectionString: process.env['DATABASE_URL'] ?? '', max: 15 }),
    transactionOptions: { maxWait: 20_000, timeout: 20_000 },
  });
