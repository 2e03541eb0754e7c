import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { consumer } from '../../../src/app/consumer/consumer.ts';
import type { ConsumerEvent } from '../../../src/inbox/consumer-event.ts';
import { InboxStage } from '../../support/fixtures/inbox-stage.ts';
import { until } from '../../support/fixtures/until.ts';
import { kafkaRequests, refuseSettings, watchWire } from '../../support/kafka/watched-wire.ts';

const topicAuthorizationFailed = 29;

let stage: InboxStage;
beforeEach(async () => {
  stage = await InboxStage.create(1);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await stage.end();
});

test("with the window 'forever' a consumer needs no right to read the settings of its topics", async () => {
  refuseSettings(topicAuthorizationFailed);
  const wire = watchWire();
  await stage.publish([{ n: 1 }]);
  await stage.consume('one', { window: 'forever', startTimeout: '30s' });

  await until(async () => (await stage.effects()).length === 1);
  // Only to fetch as much as a batch may have: what is refused has Kafka's default.
  expect(wire.requests(kafkaRequests.describeConfigs)).toHaveLength(1);
});

test('a consumer that may not read the retention of its topic reports the missing right and waits for it', async () => {
  refuseSettings(topicAuthorizationFailed);
  await stage.publish([{ n: 1 }]);
  const events: ConsumerEvent[] = [];
  const starting = consumer(stage.prisma, {
    config: stage.config,
    group: stage.group,
    logger: false,
    report: (event) => events.push(event),
  })
    .on(stage.topic, async () => undefined)
    .start();

  const waits = () => events.filter(({ type }) => type === 'waiting-for-server');
  await until(() => waits().length > 0);
  expect(waits()[0]).toMatchObject({
    server: 'kafka',
    error: {
      code: 'OUTBOX_PRIVILEGE_MISSING',
      message: expect.stringContaining(`${stage.topic.rules.address} (DescribeConfigs)`),
    },
  });
  vi.restoreAllMocks();
  await (await starting).stop();
});
