import { transaction } from '../../src/index.ts';
import { type KillMoment, killInMidSend } from './kill-in-mid-send.ts';
import type { Scene } from './scene.ts';
import { placePaidOrder } from './shop.ts';
import { products } from './shop-database.ts';
import { orderEvents } from './shop-topics.ts';
import { duration } from './wording.ts';

const orders = 500;
/** An order paid at once has two. */
const messages = orders * 2;
const customers = 8;
const mugs = products.filter(({ id }) => id.startsWith('mug-')).map(({ id }) => id);

/** The period in which no relay delivered. */
export interface Blackout {
  /** True when some of the messages were in Kafka, and others were not. */
  readonly killedMidWay: boolean;
  readonly from: Date;
  readonly to: Date;
}

/** Kills the relay during a rush of orders, which all commit nevertheless. */
export async function killRelay(scene: Scene): Promise<Blackout> {
  const { tell, log } = scene;
  const topic = orderEvents.rules.address;
  tell(`\n5. ${orders} orders, and the relay is killed with kill -9 in between`);
  await allHandled(scene);
  const before = await log.size(topic);
  const inKafka = (): Promise<number> => log.size(topic);
  const known = (): Promise<number> => countPublished(scene);
  const rush = placeOrders(scene, orders);
  // Avoids an unhandled rejection while something else is awaited.
  rush.catch(() => undefined);

  const killFrom = messages * (0.15 + Math.random() * 0.35);
  await scene.until('a part of the messages is in Kafka', async () => (await inKafka()) - before >= killFrom);
  const victim = scene.relay();
  const moment = await killInMidSend(scene, {
    relay: victim,
    inKafka,
    known,
    searchUntil: before + messages * 0.85,
  });
  const from = new Date();
  const published = (await inKafka()) - before;
  const killedMidWay = published > 0 && published < messages;
  tellKill(scene, victim.pid, published, moment);

  const goesOn = scene.until(
    'the new relay has gone on',
    async () => (await inKafka()) - before > published && new Date(),
  );
  const [{ elapsedMs }, relay, to] = await Promise.all([rush, scene.restartRelay(), goesOn]);
  tell(`   The shop did not notice: all ${orders} orders were committed within ${duration(elapsedMs)}.`);
  tell(`   A new relay (pid ${relay.pid}) was started at once.`);
  tell(
    `   ${duration(to.getTime() - from.getTime())} after the kill it went on. That is its start: the lanes were free when the dead one's session ended.`,
  );

  await allHandled(scene);
  tell(`   All ${messages} messages of the ${orders} orders have arrived, and each had its effect once.`);
  return { killedMidWay, from, to };
}

function tellKill({ tell }: Scene, pid: number, published: number, { unsettled }: KillMoment): void {
  tell(`   Relay ${pid} was killed when ${published} of ${messages} messages were in Kafka.`);
  tell(
    unsettled > 0
      ? `   A bad moment: ${unsettled} of them were sent, but not settled, and are sent again for the inbox to drop.`
      : '   It was between two batches, so nothing has to be sent again.',
  );
}

/** Customers place orders concurrently, each customer one at a time. */
export async function placeOrders(
  { prisma, signal }: Scene,
  count: number,
): Promise<{ readonly elapsedMs: number; readonly commitMs: readonly number[] }> {
  const beganAt = performance.now();
  const commitMs: number[] = [];
  const queue = Array.from({ length: count }, (_, n) => mugs[n % mugs.length] ?? '').values();
  const customer = async (): Promise<void> => {
    for (const mug of queue) {
      signal.throwIfAborted();
      const orderedAt = performance.now();
      await transaction(prisma, (tx) => placePaidOrder(tx, mug));
      commitMs.push(performance.now() - orderedAt);
    }
  };
  await Promise.all(Array.from({ length: customers }, customer));
  return { elapsedMs: performance.now() - beganAt, commitMs };
}

/** Waits until every committed event of an order is handled. */
export async function allHandled(scene: Scene, withinMs?: number): Promise<void> {
  const { prisma, reader } = scene;
  const look = async (): Promise<boolean> => {
    const effects = await prisma.effect.count({ where: { what: { in: ['placed', 'paid', 'canceled'] } } });
    return effects >= (await reader.outboxMessage.count({ where: { topic: orderEvents.name } }));
  };
  await scene.until('every committed event of an order is handled by the consumer', look, withinMs);
}

function countPublished({ reader }: Scene): Promise<number> {
  return reader.outboxMessageView.count({ where: { topic: orderEvents.name, state: 'published' } });
}
