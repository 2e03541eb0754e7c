import fastify, { type FastifyInstance } from 'fastify';
import type { Duration } from 'temporal-outbox';
import type { Operations } from 'temporal-outbox/operations';
import type { PrismaClient } from './generated/client.ts';
import { payOrder, placeOrder } from './orders.ts';
import { orderTimeout } from './topics.ts';

/** What the API works with. */
export interface Shop {
  readonly prisma: PrismaClient;
  /** Only to show what became of a timeout. */
  readonly outbox: Operations;
  readonly payWithin?: Duration;
}

/** `POST /orders`, `POST /orders/:id/payment`, `GET /orders/:id`. */
export function api({ prisma, outbox, payWithin }: Shop): FastifyInstance {
  const app = fastify();
  type One = { Params: { id: string } };

  app.post<{ Body: { productId: string } }>('/orders', async ({ body }, reply) =>
    reply.code(201).send({ id: await placeOrder(prisma, body.productId, payWithin) }),
  );

  app.post<One>('/orders/:id/payment', async ({ params: { id } }, reply) => {
    const timeout = await payOrder(prisma, id);
    return timeout === undefined ? reply.code(409).send({ error: 'not unpaid' }) : { timeout };
  });

  app.get<One>('/orders/:id', async ({ params: { id } }, reply) => {
    const order = await prisma.order.findUnique({ where: { id } });
    if (order === null) return reply.code(404).send({ error: 'unknown' });
    const { messages } = await outbox.list({ topic: orderTimeout.name, ref: id });
    const timeout = messages[0] && (await outbox.show(messages[0].id));
    return {
      status: order.status,
      timeout: timeout?.message?.state,
      dueAt: timeout?.message?.dueAt,
      workflowId: timeout?.message?.workflowId,
      workflow: timeout?.workflowUrl,
    };
  });
  return app;
}
