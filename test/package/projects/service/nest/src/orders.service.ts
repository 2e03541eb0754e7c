import { Injectable, Module } from '@nestjs/common';
import { Pool } from 'pg';
import { fromQuery, type Stored, send, topic } from 'temporal-outbox';
import { consumer } from 'temporal-outbox/consumer';
import { startRelay } from 'temporal-outbox/relay';
import { kafka } from 'temporal-outbox/transports';
import { z } from 'zod';

export const orderPlaced = topic('order-placed', z.object({ orderId: z.string() }));

@Injectable()
export class OrdersService {
  readonly pool = new Pool({ connectionString: process.env.DATABASE_URL });
  /** What other parts of the application use; here only to see that Jest loads it. */
  readonly parts = { consumer, startRelay, transport: kafka({ servers: 'localhost:9092' }) };

  async place(orderId: string): Promise<Stored> {
    const client = await this.pool.connect();
    try {
      await client.query('begin');
      const tx = fromQuery(async (text, values) => (await client.query(text, values)).rows);
      const stored = await send(tx, orderPlaced, { orderId }, { key: orderId });
      await client.query('commit');
      return stored;
    } catch (error) {
      await client.query('rollback');
      throw error;
    } finally {
      client.release();
    }
  }
}

@Module({ providers: [OrdersService], exports: [OrdersService] })
export class OrdersModule {}
