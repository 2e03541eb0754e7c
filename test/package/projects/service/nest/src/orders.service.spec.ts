import { Test } from '@nestjs/testing';
import { OutboxError } from 'temporal-outbox';
import { sentIn } from 'temporal-outbox/testing';
import { OrdersModule, OrdersService } from './orders.service';

describe('OrdersService', () => {
  let orders: OrdersService;

  beforeAll(async () => {
    const app = await Test.createTestingModule({ imports: [OrdersModule] }).compile();
    orders = app.get(OrdersService);
  });
  afterAll(() => orders.pool.end());

  it('stores a message', async () => {
    const stored = await orders.place('order-1');
    const { rows } = await orders.pool.query('select topic from outbox.message where id = $1', [stored.id]);
    expect(rows).toEqual([{ topic: 'order-placed' }]);
  });

  it('gets errors that it can distinguish by their class', async () => {
    const error: unknown = await orders.place(1 as unknown as string).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(OutboxError);
    expect(error).toMatchObject({ code: 'OUTBOX_KEY_INVALID' });
    expect(typeof sentIn).toBe('function');
  });
});
