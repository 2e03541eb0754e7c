// The usual way by hand, as small as it can be: a message table, confirms and returns, a rescan every minute. Not to be copied.
import { randomUUID } from 'node:crypto';
import type { Channel, ChannelModel, ConsumeMessage } from 'amqplib';
import { byHand } from './broker.ts';
import type { HandMessage, Order, PrismaClient } from './generated/client.ts';
import { pick } from './warehouse.ts';

const sending = 1;
const delivered = 2;
const failed = 3;
const threshold = 3;

/** The order service: publishes within the transaction. */
export async function orderService(prisma: PrismaClient, connection: ChannelModel) {
  const channel = await connection.createConfirmChannel();
  const returned = new Set<string>();
  channel.on('return', ({ properties }) => returned.add(properties.messageId));

  /** Resolves when the broker has answered, and the row says so. */
  async function publish({ id, exchange, routingKey, body }: HandMessage): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const options = { messageId: id, mandatory: true, persistent: true };
      channel.publish(exchange, routingKey, Buffer.from(body), options, (nack) =>
        nack ? reject(nack) : resolve(),
      );
    });
    if (returned.delete(id)) return; // no queue: it stays "sending", for the rescan
    await prisma.handMessage.updateMany({ where: { id, status: sending }, data: { status: delivered } });
  }

  return {
    /** @param rest what else the transaction does, given the broker's confirmation */
    place: (item: string, rest?: (confirmed: Promise<void>) => Promise<void>): Promise<Order> =>
      prisma.$transaction(async (tx) => {
        const order = await tx.order.create({ data: { item, messageId: randomUUID() } });
        const data = { id: order.messageId, exchange: byHand.exchange, routingKey: order.id };
        const body = JSON.stringify({ orderId: order.id, item });
        const message = await tx.handMessage.create({ data: { ...data, body } });
        const confirmed = publish(message); // before the commit
        await rest?.(confirmed);
        return order;
      }),

    /** The job of every minute. */
    async rescan(): Promise<void> {
      for (const message of await prisma.handMessage.findMany({ where: { status: sending } })) {
        const retries = message.retries + 1;
        const status = retries >= threshold ? failed : sending;
        await prisma.handMessage.update({ where: { id: message.id }, data: { retries, status } });
        if (status === sending) await publish(message);
      }
    },

    /** What a person does about a failed message. */
    async resend(id: string): Promise<void> {
      const data = { status: sending, retries: 0 };
      await publish(await prisma.handMessage.update({ where: { id, status: failed }, data }));
    },
  };
}

/** The warehouse: stores the message, then acknowledges it; a message that it has stored before is only acknowledged. */
export async function startHandWarehouse(prisma: PrismaClient, connection: ChannelModel, fate?: 'dies') {
  const channel: Channel = await connection.createChannel();
  await channel.prefetch(1);
  await channel.assertQueue(byHand.queue, { durable: true });
  await channel.bindQueue(byHand.queue, byHand.exchange, '#');
  let repeats = 0;
  let dead = false;
  const handle = async (message: ConsumeMessage | null): Promise<void> => {
    if (message === null || dead) return;
    const id: string = message.properties.messageId;
    if ((await prisma.picking.count({ where: { messageId: id } })) === 0) {
      const { orderId } = JSON.parse(message.content.toString());
      await prisma.$transaction((tx) => pick(tx, id, orderId));
    } else repeats += 1;
    dead = fate === 'dies';
    if (dead)
      await channel.close(); // the broker sees what it sees of a process that died
    else channel.ack(message);
  };
  await channel.consume(byHand.queue, (message) => void handle(message));
  return { repeats: () => repeats, stop: () => channel.close() };
}
