import { randomUUID } from 'node:crypto';
import { Test, type TestingModule } from '@nestjs/testing';
import { clientOf } from 'temporal-outbox/consumer';
import { OutboxConsumer, OutboxModule } from 'temporal-outbox/nestjs';
import { AppModule, broker, Idle, OrderHandlers, orderLost, orderPaid, PoolService } from './orders.consumer';

const envelope = (orderId: string) => ({
  key: orderId,
  body: JSON.stringify({ orderId }),
  headers: { ce_id: randomUUID() },
});
const until = async (condition: () => boolean | Promise<boolean>) => {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20));
};

describe('OutboxModule', () => {
  let app: TestingModule;
  let consumer: OutboxConsumer;
  let service: PoolService;
  const paid = async () =>
    (await service.pool.query('select id from paid order by id')).rows.map(({ id }) => id);

  beforeAll(async () => {
    app = await Test.createTestingModule({ imports: [AppModule] }).compile();
    service = app.get(PoolService, { strict: false });
    consumer = app.get(OutboxConsumer, { strict: false });
    await service.pool.query('create table paid (id text primary key)');
  }, 120_000);

  it('is ready only once the application runs', async () => {
    expect(consumer.ready()).toMatchObject({ outbox: { status: 'down', joined: false } });
    await app.init();
    await consumer.started;
    expect(consumer.ready('inbox')).toMatchObject({ inbox: { status: 'up', state: 'running', failing: [] } });
    expect(consumer.live()).toMatchObject({ outbox: { status: 'up' } });
  }, 120_000);

  it('passes messages to decorated methods, each once, in the transaction of the handler', async () => {
    const message = envelope('order-1');
    broker.append(orderPaid.name, message, message, envelope('order-2'));
    await until(async () => (await consumer.status()).duplicates === 1 && (await paid()).length === 2);
    expect(await paid()).toEqual(['order-1', 'order-2']);
  }, 120_000);

  it('throws the errors of handlers unchanged, also of an inherited one', async () => {
    broker.append(orderLost.name, envelope('order-3'));
    await until(async () => (await consumer.status()).failed === 1);
    expect(app.get(OrderHandlers, { strict: false }).lost).toEqual(['order-3']);
  }, 120_000);

  it('stops with the application, before anything that its handlers use is closed', async () => {
    broker.append(orderPaid.name, envelope('order-4'));
    await app.close();
    expect(consumer.health().state).toBe('stopped');
    expect(consumer.live()).toMatchObject({ outbox: { status: 'down' } });
    expect(service.closed).toBe(true);
  }, 120_000);

  it('refuses a handler without a decorated method', () => {
    const options = { client: clientOf(service.pool), config: { topics: [], transports: {} }, group: 'nest' };
    expect(() => OutboxModule.forRoot({ ...options, handlers: [Idle] })).toThrow(
      expect.objectContaining({ code: 'OUTBOX_OPTION_INVALID' }),
    );
  });
});
