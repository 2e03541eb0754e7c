// What a service with Prisma 8 has: its contract, its client, and topics.
import { defineContract } from '@prisma/orm-postgres/contract-builder';
import postgres from '@prisma/orm-postgres/runtime';
import type { Pool } from 'pg';
import { prisma8, topic } from 'temporal-outbox';
import { z } from 'zod';

const contract = defineContract({}, ({ field, model }) => ({
  models: {
    Order: model('Order', { fields: { id: field.text().id() } }).sql({ table: 'orders' }),
  },
}));

export const db = postgres({ contract, url: process.env['DATABASE_URL'] ?? '', verifyMarker: false });
export const client = prisma8(db);

export const orderPlaced = topic('order-placed', z.object({ orderId: z.string() }));
export const orderShipped = topic('order-shipped', z.object({ orderId: z.string() }));

/** The same with a single connection. */
export const narrow = (pool: Pool) => prisma8(postgres({ contract, pg: pool, verifyMarker: false }));
