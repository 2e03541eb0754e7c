import { consumer } from '../../src/app/consumer/consumer.ts';
import { kafka } from '../../src/brokers/kafka/transport/kafka-transport.ts';
import type { RunningConsumer } from '../../src/inbox/consumer-interface.ts';
import { payloadTopic, prismaOf, writeEffects } from '../consume-load.ts';
import type { Contender, ContenderInput } from '../contenders/protocol.ts';
import { storesNothing } from './stores-nothing.ts';

const batchSize = 1_000;

/** A consumer of Kafka that writes a row per message, 1,000 in a transaction. Setting: `from`, the topic. */
export async function openConsumer(input: ContenderInput): Promise<Contender> {
  const { databaseUrl, brokers, setting, temporalAddress } = input;
  const topic = payloadTopic(String(setting['from']));
  const prisma = prismaOf({ databaseUrl });
  const made = consumer(prisma, {
    config: {
      database: { url: databaseUrl },
      temporal: { address: temporalAddress },
      topics: [topic],
      transports: { kafka: kafka({ servers: brokers }) },
    },
    group: `group-of-${topic.name}`,
    batch: { size: batchSize },
  });
  made.onBatch(topic, writeEffects);
  let running: RunningConsumer | undefined;
  return {
    fill: storesNothing,
    async start() {
      running = await made.start();
    },
    async stop() {
      await running?.stop();
      await prisma.$disconnect();
    },
  };
}
