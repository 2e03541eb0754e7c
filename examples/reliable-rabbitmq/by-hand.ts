// The usual way by hand, in its usual order: the order service publishes within the transaction; the broker's confirmation and the
// job of every minute write the row as they have read it. Not to be copied.
import { randomUUID } from 'node:crypto';
import { type ChannelModel, type ConfirmChannel, connect } from 'amqplib';
import { byHand } from './broker.ts';
import type { HandMessage, Order, PrismaClient } from './generated/client.ts';

export const status = { sending: 1, delivered: 2, failed: 3, stored: 4 } as const;
const threshold = 3;

/** What the story slows down, as a busy machine or network would. */
export interface Slowness {
  /** No confirmation is handled before this is resolved. */
  confirmations: Promise<void>;
}

/** The order service. */
export function orderService(prisma: PrismaClient, url: string, slow: Slowness) {
  let connection: ChannelModel | undefined;
  let channel: ConfirmChannel | undefined;
  const published: string[] = [];
  const confirmed: string[] = [];

  /** @throws while RabbitMQ is away */
  async function publish({ id, exchange, routingKey, body }: HandMessage): Promise<void> {
    const open = channel ?? (await openChannel());
    published.push(id);
    const options = { messageId: id, mandatory: true, persistent: true };
    open.publish(exchange, routingKey, Buffer.from(body), options, (nack) => void confirm(id, nack === null));
  }

  async function openChannel(): Promise<ConfirmChannel> {
    connection = await connect(url);
    connection.on('error', () => {}); // "close" follows
    connection.on('close', () => {
      channel = undefined;
    });
    channel = await connection.createConfirmChannel();
    return channel;
  }

  /** Nobody listens for returned messages. The broker confirms these, too. */
  async function confirm(id: string, ack: boolean): Promise<void> {
    await slow.confirmations;
    const message = await prisma.handMessage.findUnique({ where: { id } });
    if (message !== null)
      await save({ ...message, ...(ack ? { status: status.delivered } : { retries: message.retries + 1 }) });
    confirmed.push(id);
  }

  /** Writes the whole row, whatever has become of it since it was read. */
  async function save(message: HandMessage): Promise<void> {
    await prisma.handMessage.update({ where: { id: message.id }, data: message });
  }

  return {
    published,
    confirmed,

    /** @param rest what else the transaction does after it has published */
    place: (item: string, rest?: (messageId: string) => Promise<void>): Promise<Order> =>
      prisma.$transaction(async (tx) => {
        const order = await tx.order.create({ data: { item, messageId: randomUUID() } });
        const data = { id: order.messageId, exchange: byHand.exchange, routingKey: order.id };
        const body = JSON.stringify({ orderId: order.id, item });
        await publish(await tx.handMessage.create({ data: { ...data, body } }));
        await rest?.(order.messageId);
        return order;
      }),

    /** The job of every minute. @param meanwhile what others do when it has read its messages */
    async rescan(meanwhile?: () => Promise<void>): Promise<void> {
      const messages = await prisma.handMessage.findMany({ where: { status: status.sending } });
      await meanwhile?.();
      for (const message of messages) {
        if (message.retries >= threshold) await save({ ...message, status: status.failed });
        else {
          await save({ ...message, retries: message.retries + 1 });
          await publish(message);
        }
      }
    },

    stop: () => connection?.close(),
  };
}
