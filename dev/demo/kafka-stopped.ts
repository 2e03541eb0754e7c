import { allHandled, placeOrders } from './rush.ts';
import type { Scene } from './scene.ts';
import { orderEvents } from './shop-topics.ts';
import { duration, median } from './wording.ts';

const orders = 50;
const recoverWithinMs = 120_000;

/** Stops Kafka for a while: orders still commit, and no message uses up an attempt. */
export async function stopKafka(scene: Scene): Promise<{ readonly brokerWasDown: boolean }> {
  const { tell, reader, servers } = scene;
  tell(`\n7. Kafka is stopped while ${orders} orders are placed`);
  const [broker] = servers.kafka.nodes;
  if (broker === undefined) throw new Error('There is no broker that may be stopped.');
  await broker.stop();
  tell('   Kafka is down.');
  const { commitMs } = await placeOrders(scene, orders);
  tell(`   ${orders} orders were committed all the same (median ${duration(median(commitMs))}).`);
  await scene.until('the relay puts the lane on hold', async () => {
    const lanes = await reader.outboxLane.findMany({ where: { topic: orderEvents.name } });
    return lanes.some(({ hold }) => hold !== null);
  });
  const waiting = await reader.outboxMessageView.count({
    where: { topic: orderEvents.name, state: 'ready' },
  });
  tell(`   The relay has put the topic on hold: ${waiting} messages wait, and none is tried in vain.`);

  await broker.start();
  const backAt = performance.now();
  tell('   Kafka is up again.');
  await scene.until(
    'every message that waited for Kafka is published',
    async () => (await countReady(scene)) === 0,
    recoverWithinMs,
  );
  tell(`   All of them were published ${duration(performance.now() - backAt)} later,`);
  await allHandled(scene, recoverWithinMs);
  tell(
    `   and handled ${duration(performance.now() - backAt)} later: Kafka first lets the consumer's lost membership expire.`,
  );
  return { brokerWasDown: waiting > 0 };
}

function countReady({ reader }: Scene): Promise<number> {
  return reader.outboxMessageView.count({ where: { topic: orderEvents.name, state: 'ready' } });
}
