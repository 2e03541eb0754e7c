import { randomUUID } from 'node:crypto';
import { Admin, ClientQuotaEntityTypes, ClientQuotaKeys } from '@platformatic/kafka';
import { expect, inject, onTestFinished, test } from 'vitest';
import { kafka } from '../../../src/brokers/kafka/transport/kafka-transport.ts';
import type { OutgoingMessage, PublishOutcome } from '../../../src/brokers/transport.ts';
import { outgoing, publishTo } from '../../support/fixtures/outgoing.ts';
import { until } from '../../support/fixtures/until.ts';
import { readTopic } from '../../support/kafka/kafka-reader.ts';
import { createTopic, observer } from '../../support/kafka/kafka-topic.ts';

const { plain: brokers } = inject('secureKafka');
const client = observer(brokers);

/** A client whose producers may send this many bytes a second. */
async function limited(bytesPerSecond: number): Promise<string> {
  const clientId = `limited-${randomUUID()}`;
  const admin = new Admin({ clientId: 'quotas', bootstrapBrokers: brokers.split(',') });
  onTestFinished(() => admin.close());
  await admin.alterClientQuotas({
    entries: [
      {
        entities: [{ entityType: ClientQuotaEntityTypes.CLIENT_ID, entityName: clientId }],
        ops: [{ key: ClientQuotaKeys.PRODUCER_BYTE_RATE, value: bytesPerSecond, remove: false }],
      },
    ],
  });
  return clientId;
}

test('a quota that delays the answers of a broker leaves no doubt and no copy', {}, async () => {
  const transport = kafka({ servers: brokers, clientId: await limited(100_000), requestTimeout: '2s' });
  onTestFinished(() => transport.close());
  const addresses = await Promise.all([createTopic(client), createTopic(client), createTopic(client)]);
  const seen: PublishOutcome[] = [];
  const send = async (address: string, messages: readonly OutgoingMessage[]): Promise<boolean> => {
    const { outcomes } = await publishTo(transport, address, messages);
    seen.push(...outcomes);
    return outcomes.every(({ kind }) => kind === 'acknowledged');
  };
  const sent = addresses.map((address) => ({
    address,
    batches: Array.from({ length: 4 }, () => Array.from({ length: 20 }, () => outgoing('a', 8_000))),
  }));

  await Promise.all(
    sent.map(async ({ address, batches }) => {
      for (const messages of batches) await until(() => send(address, messages), 150_000, 200);
    }),
  );

  const doubts = seen.filter(
    (one) => one.kind !== 'acknowledged' && !(one.kind === 'deferred' && !one.onWire),
  );
  expect(doubts).toEqual([]);
  for (const { address, batches } of sent)
    expect((await readTopic(client, address)).map(({ id }) => id)).toEqual(
      batches.flat().map(({ id }) => id),
    );
});
