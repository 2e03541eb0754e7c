import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { consumer } from '../../../src/app/consumer/consumer.ts';
import { topic } from '../../../src/core/topic.ts';
import type { ConsumerEvent } from '../../../src/inbox/consumer-event.ts';
import { InboxStage } from '../../support/fixtures/inbox-stage.ts';
import { until } from '../../support/fixtures/until.ts';

let stage: InboxStage;
beforeAll(async () => {
  stage = await InboxStage.create(1);
});
afterAll(() => stage.end());

test('a consumer of a topic missing in Kafka reports it at once with the next step', {
  tags: ['missing-topic-named'],
}, async () => {
  const missing = topic('orders', z.object({}), { address: `missing-${randomUUID()}` });
  const events: ConsumerEvent[] = [];
  const config = { ...stage.config, topics: [missing] };
  const starting = consumer(stage.prisma, {
    config,
    group: stage.group,
    // It is reported again after five seconds.
    startTimeout: '4s',
    report: (event) => events.push(event),
  })
    .on(missing, async () => undefined)
    .start();
  const startedAt = performance.now();
  const refused = starting.then(
    () => undefined,
    (error: unknown) => ({ error, afterMs: performance.now() - startedAt }),
  );

  const waits = (): readonly ConsumerEvent[] => events.filter(({ type }) => type === 'waiting-for-server');
  await until(() => waits().length > 0);
  const told = { type: 'waiting-for-server', server: 'kafka', error: { code: 'OUTBOX_ADDRESS_MISSING' } };
  expect(waits()[0]).toMatchObject(told);
  expect(waits()[0]).toMatchObject({
    error: {
      message: expect.stringContaining(missing.rules.address),
      next: expect.stringMatching(/^Create the named topics/),
    },
  });
  expect(await refused).toMatchObject({ error: { code: 'OUTBOX_ADDRESS_MISSING' } });
  // Not at every look.
  expect(waits()).toHaveLength(1);
});
