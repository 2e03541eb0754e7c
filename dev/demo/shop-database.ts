import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { applyMigrations } from '../../src/operations/schema.ts';
import { PrismaClient as OutboxReader } from '../generated/outbox/client.ts';
import { PrismaClient } from '../generated/shop/client.ts';

export type { OutboxReader };

/** Relative to the build, `dist/dev/demo`: the demo runs only from there. */
const packageFolder = path.join(__dirname, '../../..');

/** The products of the shop with their initial stock. */
export const products = [
  { id: 'teapot', name: 'Teapot', stock: 10 },
  { id: 'lamp', name: 'Reading lamp', stock: 1 },
  { id: 'mug-blue', name: 'Mug, blue', stock: 200 },
  { id: 'mug-green', name: 'Mug, green', stock: 200 },
  { id: 'mug-red', name: 'Mug, red', stock: 200 },
  { id: 'mug-white', name: 'Mug, white', stock: 200 },
] as const;

/** Creates the tables of the outbox and of the shop, adds the products, and connects. */
export async function openShopDatabase(url: string): Promise<PrismaClient> {
  await applyMigrations({ url });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(await readFile(path.join(packageFolder, 'prisma/shop.sql'), 'utf8'));
  } finally {
    await client.end();
  }
  const prisma = new PrismaClient({
    adapter: new PrismaPg({ connectionString: url, max: 20 }),
    transactionOptions: { maxWait: 20_000, timeout: 20_000 },
  });
  await prisma.product.createMany({ data: [...products] });
  return prisma;
}

/** A client for the tables of the outbox, used to check the story. The shop itself needs none. */
export function openOutboxReader(url: string): OutboxReader {
  return new OutboxReader({ adapter: new PrismaPg({ connectionString: url, max: 2 }) });
}
