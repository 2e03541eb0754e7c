import { Inject, Injectable, Module } from '@nestjs/common';
import { Pool } from 'pg';
import { clientOf, topic } from 'temporal-outbox';
import { type InboxMessage, type PoolTransactionClient, permanent } from 'temporal-outbox/consumer';
import { OnMessage, OutboxModule } from 'temporal-outbox/nestjs';
import { memoryBroker } from 'temporal-outbox/testing';
import { z } from 'zod';

const order = z.object({ orderId: z.string() });
type Order = z.infer<typeof order>;
type Tx = PoolTransactionClient<import('pg').PoolClient>;

export const orderPaid = topic('order-paid', order);
export const orderLost = topic('order-lost', order);
export const broker = memoryBroker({ partitions: 1 });
const config = { temporal: {}, topics: [orderPaid, orderLost], transports: { kafka: broker } };

@Injectable()
export class PoolService {
  readonly pool = new Pool({ connectionString: process.env.DATABASE_URL, max: 20 });
  closed = false;

  async onModuleDestroy(): Promise<void> {
    this.closed = true;
    await this.pool.end();
  }
}

@Module({ providers: [PoolService], exports: [PoolService] })
export class PoolModule {}

class Losing {
  readonly lost: string[] = [];

  @OnMessage(orderLost)
  async lose(_tx: Tx, { payload }: InboxMessage<Order>): Promise<void> {
    this.lost.push(payload.orderId);
    throw permanent(new Error(`${payload.orderId} is lost.`));
  }
}

@Injectable()
export class OrderHandlers extends Losing {
  constructor(@Inject(PoolService) readonly service: PoolService) {
    super();
  }

  @OnMessage(orderPaid)
  async pay(tx: Tx, { payload }: InboxMessage<Order>): Promise<void> {
    // What it injects still works while the application closes.
    if (this.service.closed) throw new Error('The pool was closed first.');
    await tx.query('insert into paid values ($1)', [payload.orderId]);
  }

  // @ts-expect-error -- the payload is another one
  @OnMessage(topic('other', z.object({ total: z.number() })))
  async other(_tx: Tx, _message: InboxMessage<Order>): Promise<void> {}
}

@Injectable()
export class Idle {}

/** The module, with the handlers that a test gives. */
export const outboxModule = () =>
  OutboxModule.forRootAsync({
    imports: [PoolModule],
    inject: [PoolService],
    useFactory: ({ pool }: PoolService) => ({
      client: clientOf(pool),
      config: { ...config, topics: [...config.topics, topic('other', z.unknown())] },
      group: 'nest',
      logger: false,
    }),
    handlers: [OrderHandlers],
  });

@Module({ imports: [outboxModule()] })
export class AppModule {}
