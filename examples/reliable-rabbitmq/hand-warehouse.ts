import { type ConsumeMessage, connect } from 'amqplib';
import { byHand } from './broker.ts';
import { status } from './by-hand.ts';
import type { PrismaClient } from './generated/client.ts';
import { pick } from './warehouse.ts';

/** What befalls the warehouse with its first message. */
export type Fate = 'dies before its work' | 'its acknowledgement is lost';

/** The warehouse by hand: marks the message as stored, in the table of the order service, acknowledges it, then does its work. */
export async function startHandWarehouse(prisma: PrismaClient, url: string, fate?: Fate) {
  const connection = await connect(url);
  const channel = await connection.createChannel();
  await channel.prefetch(250);
  await channel.assertQueue(byHand.queue, { durable: true });
  await channel.bindQueue(byHand.queue, byHand.exchange, '#');
  const unknown: string[] = [];
  let repeats = 0;
  let dead = false;

  async function handle(delivery: ConsumeMessage): Promise<void> {
    const id: string = delivery.properties.messageId;
    const message = await prisma.handMessage.findUnique({ where: { id } });
    // "Impossible", so it is an error: neither acknowledged nor given back, it stays with this consumer until that ends.
    if (message === null) return void unknown.push(id);
    if (message.status === status.stored) {
      repeats += 1;
      channel.ack(delivery);
      return;
    }
    await prisma.handMessage.update({ where: { id }, data: { status: status.stored } });
    if (fate !== 'its acknowledgement is lost') channel.ack(delivery);
    if (fate !== undefined) {
      dead = true;
      await channel.close(); // the broker sees what it sees of a process, or of a connection, that has gone
    }
    if (fate === 'dies before its work') return;
    await prisma.$transaction((tx) => pick(tx, id, JSON.parse(delivery.content.toString()).orderId));
  }

  let working = Promise.resolve();
  await channel.consume(byHand.queue, (delivery) => {
    working = working.then(() => (delivery === null || dead ? undefined : handle(delivery)));
  });
  return {
    /** Messages that it has received and found no row of. */
    unknown,
    /** Deliveries that it has dropped, because it had stored their message. */
    repeats: () => repeats,
    /** Whether its fate has befallen it. */
    dead: () => dead,
    async stop(): Promise<void> {
      await working;
      await connection.close();
    },
  };
}
