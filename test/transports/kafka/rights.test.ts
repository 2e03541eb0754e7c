import {
  type AclEntry,
  AclOperationTypes,
  AclPermissionTypes,
  AclResourceTypes,
  ResourcePatternTypes,
} from 'kafkajs';
import { expect, inject, onTestFinished, test } from 'vitest';
import { kafkaTransport } from '../../../src/brokers/kafka/transport/kafka-transport.ts';
import { until } from '../../support/fixtures/until.ts';
import { createTopic, observer } from '../../support/kafka/kafka-topic.ts';

const { brokers, plain, ca } = inject('secureKafka');
const { TOPIC, GROUP } = AclResourceTypes;
const { DESCRIBE, DESCRIBE_CONFIGS, READ, WRITE } = AclOperationTypes;

function transportOf(username: string, password: string) {
  const sasl = { mechanism: 'plain', username, password } as const;
  const transport = kafkaTransport({ servers: brokers, tls: { ca }, sasl });
  onTestFinished(() => transport.close());
  return transport;
}

/** Once a resource has rights, only those apply. */
async function allow(
  user: string,
  resourceType: AclResourceTypes,
  resourceName: string,
  ...operations: readonly AclOperationTypes[]
): Promise<void> {
  const admin = observer(plain).admin();
  await admin.connect();
  const acl = operations.map(
    (operation): AclEntry => ({
      principal: `User:${user}`,
      host: '*',
      operation,
      permissionType: AclPermissionTypes.ALLOW,
      resourceType,
      resourceName,
      resourcePatternType: ResourcePatternTypes.LITERAL,
    }),
  );
  await admin.createAcls({ acl });
  await admin.disconnect();
}

test('a relay needs Write and Describe on a topic, a consumer Read and Describe, Read on its group, and DescribeConfigs for its retention', async () => {
  const address = await createTopic(observer(plain), { numPartitions: 1 });
  const group = `${address}-group`;
  await allow('alice', TOPIC, address, WRITE, DESCRIBE);
  await allow('carol', TOPIC, address, READ, DESCRIBE);
  await allow('carol', GROUP, group, READ);

  const messages = [{ id: 'm-1', key: 'a', payload: '{}', headers: { ce_id: 'm-1' } }];
  const { signal } = new AbortController();
  const { outcomes } = await transportOf('alice', 'wonderland').publish({
    address,
    partitions: 1,
    signal,
    messages,
  });
  expect(outcomes).toMatchObject([{ kind: 'acknowledged' }]);

  const source = transportOf('carol', 'christmas').source();
  const ids: unknown[] = [];
  const subscribed = await source.subscribe({
    addresses: [address],
    group,
    concurrency: 1,
    fromBeginning: true,
    joinWithinMs: 30_000,
    batchSize: 10,
    async handle(batch) {
      for (const message of batch.messages) {
        ids.push(message.header('ce_id'));
        batch.acknowledge(message);
      }
    },
    assigned: () => undefined,
    disconnected: () => undefined,
  });
  onTestFinished(() => subscribed.stop());
  await until(() => ids.length === 1);
  expect(ids).toEqual(['m-1']);
  expect(await subscribed.lag()).toMatchObject([{ address }]);

  await expect(source.redeliveryPeriodMs([address])).rejects.toMatchObject({
    code: 'OUTBOX_PRIVILEGE_MISSING',
    message: expect.stringContaining(`${address} (DescribeConfigs)`),
  });
  await allow('carol', TOPIC, address, DESCRIBE_CONFIGS);
  expect(await source.redeliveryPeriodMs([address])).toBeGreaterThan(0);
});
