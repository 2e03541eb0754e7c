import { randomUUID } from 'node:crypto';
import type { Kafka } from 'kafkajs';
import type { DeliveredMessage } from '../../../src/testing/contract-subject.ts';

/** Reads everything that a topic holds now, in order of partition and offset. */
export async function readTopic(kafka: Kafka, topic: string): Promise<readonly DeliveredMessage[]> {
  const admin = kafka.admin();
  await admin.connect();
  const ends = await admin.fetchTopicOffsets(topic);
  await admin.disconnect();
  const missing = new Map(
    ends
      .filter(({ high, low }) => Number(high) > Number(low))
      .map(({ partition, high }) => [partition, Number(high)]),
  );
  if (missing.size === 0) return [];
  const received: DeliveredMessage[] = [];
  const consumer = kafka.consumer({
    groupId: `reader-${randomUUID()}`,
    maxBytesPerPartition: 4_194_304,
    // How long a fetch at the end of the log waits; the reader can leave only between fetches.
    maxWaitTimeInMs: 100,
  });
  await consumer.connect();
  await consumer.subscribe({ fromBeginning: true, topic });
  await new Promise<void>((resolve, reject) => {
    const arrivedAt = (partition: number, offset: string): void => {
      if (Number(offset) + 1 >= (missing.get(partition) ?? Number.POSITIVE_INFINITY))
        missing.delete(partition);
      if (missing.size === 0) resolve();
    };
    consumer
      .run({
        eachBatch: async ({ batch }) => {
          for (const { headers, key, offset, value } of batch.messages) {
            received.push({
              headers: texts(headers ?? {}),
              id: String(headers?.['ce_id'] ?? ''),
              key: key?.toString() ?? null,
              offset,
              partition: batch.partition,
              payload: value?.toString() ?? '',
            });
          }
          arrivedAt(batch.partition, batch.lastOffset());
        },
      })
      .catch(reject);
  });
  await consumer.disconnect();
  return received.toSorted(
    (a, b) => Number(a.partition) - Number(b.partition) || Number(a.offset) - Number(b.offset),
  );
}

function texts(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}
