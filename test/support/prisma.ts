import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from '../../src/demo/generated/client.ts';

/** A Prisma client with a pool of its own; disconnect it before the database is dropped. */
export function openPrisma(url: string, { max = 10 } = {}): PrismaClient {
  return new PrismaClient({
    adapter: new PrismaPg({ connectionString: url, max }),
    // Long enough for a test that lets one transaction wait for another.
    transactionOptions: { maxWait: 20_000, timeout: 20_000 },
  });
}
