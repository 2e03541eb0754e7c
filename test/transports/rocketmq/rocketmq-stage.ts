import { randomUUID } from 'node:crypto';
import { inject } from 'vitest';
import { fromProperties } from '../../../src/brokers/rocketmq/client/properties.ts';
import type { RocketmqOptions } from '../../../src/brokers/rocketmq/transport/rocketmq-options.ts';
import type { DeliveredMessage } from '../../../src/testing.ts';
import { BrokerAdmin, type StoredMessage } from './broker-admin.ts';

const { accessKey, broker, endpoint, secretKey } = inject('rocketmq');

/** What the shared server is asked without gRPC. */
export const admin = new BrokerAdmin(broker);

/** Options for the shared server. */
export const options = { servers: endpoint, accessKey, secretKey } as const satisfies RocketmqOptions;

/** A topic of its own. */
export async function newTopic(type: 'NORMAL' | 'FIFO' | 'DELAY', queues: number): Promise<string> {
  const topic = `${type}-${randomUUID()}`;
  await admin.createTopic(topic, type, queues);
  return topic;
}

/** The content of a topic, as the contract requires it. */
export async function delivered(topic: string, queues: number): Promise<readonly DeliveredMessage[]> {
  return (await admin.read(topic, queues)).map(deliveredMessage);
}

function deliveredMessage({ body, properties }: StoredMessage): DeliveredMessage {
  const { key, headers } = fromProperties(properties);
  return {
    id: properties.get('KEYS') ?? '',
    key: key ?? null,
    payload: body.toString(),
    headers,
    // A send answers only the offset, which does not locate a message.
    partition: null,
    offset: null,
  };
}
