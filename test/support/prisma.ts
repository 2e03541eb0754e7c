import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from '../../src/demo/generated/client.ts';

/** A Prisma client with a pool of its own; disconnect it before the database is dropped. */
export function openPrisma(url: string): PrismaClient {
  return new PrismaClient({
    adapter: new PrismaPg({ connectionString: url, max: 10 }),
    // Long enough for a test that lets one transaction wait for another.
    transactionOptions: { maxWait: 20_000, timeout: 20_000 },
  });
}
