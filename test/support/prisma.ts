import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from '../../src/demo/generated/client.ts';

/** A Prisma client with a pool of its own; disconnect it before the database is dropped. */
export function openPrisma(url: string, { max = 10 } = {}): PrismaClient {
  return new PrismaClient({
    // As docs/production.md advises: an answer that a fault swallows must not keep its connection, and the end of a test.
    adapter: new PrismaPg({ connectionString: url, max, query_timeout: 25_000 }),
    // Long enough for a test that lets one transaction wait for another.
    transactionOptions: { maxWait: 20_000, timeout: 20_000 },
  });
}
