import type { ChannelModel } from 'amqplib';
import { orderPlaced, personTold } from './topics.ts';

/** What this example uses on RabbitMQ. `temporal-outbox migrate --create` has made the exchanges of its topics. */
export const ours = { exchange: orderPlaced.rules.address, queue: `${orderPlaced.rules.address}.warehouse` };
export const byHand = { exchange: 'reliable-rabbitmq.by-hand', queue: 'reliable-rabbitmq.by-hand.warehouse' };

const persons = { exchange: personTold.rules.address, queue: `${personTold.rules.address}.mailer` };
const all = [ours, byHand, persons];

/** Removes what an earlier run has left, so that nobody has a queue, and makes the exchange of the way by hand. */
export async function prepareBroker(connection: ChannelModel): Promise<void> {
  const channel = await connection.createChannel();
  for (const { queue } of all) await channel.deleteQueue(queue);
  await channel.assertExchange(byHand.exchange, 'topic', { durable: true });
  await channel.close();
}

/** The ids of all messages that the exchange gets from now on, as they come. */
export async function watchExchange(connection: ChannelModel): Promise<readonly string[]> {
  const ids: string[] = [];
  const channel = await connection.createChannel();
  const { queue } = await channel.assertQueue('', { exclusive: true });
  await channel.bindQueue(queue, ours.exchange, '#');
  await channel.consume(queue, (message) => void ids.push(message?.properties.messageId ?? ''), {
    noAck: true,
  });
  return ids;
}

export async function removeFromBroker(connection: ChannelModel): Promise<void> {
  const channel = await connection.createChannel();
  for (const { exchange, queue } of all) {
    await channel.deleteQueue(queue);
    await channel.deleteExchange(exchange);
  }
  await channel.close();
}
