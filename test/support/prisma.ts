import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { PrismaClient } from '../../src/demo/generated/client.ts';

/** A Prisma client with a pool of its own; disconnect it before the database is dropped. */
export function openPrisma(url: string, { max = 10 } = {}): PrismaClient {
  // As docs/production.md advises: an answer that a fault swallows must not keep its connection, and the end of a test.
  const pool = new pg.Pool({ connectionString: url, max, query_timeout: 25_000 });
  pool.on('connect', (client) => client.on('error', () => undefined));
  return new PrismaClient({
    adapter: new PrismaPg(pool, { disposeExternalPool: true }),
    // Long enough for a test that lets one transaction wait for another.
    transactionOptions: { maxWait: 20_000, timeout: 20_000 },
  });
}
