import { randomUUID } from 'node:crypto';
import { expect, inject, onTestFinished, test } from 'vitest';
import { consumer } from '../../../../src/app/consumer/consumer.ts';
import { send } from '../../../../src/outbox/send.ts';
import { openFaultStage } from '../../../support/faults/fault-stage.ts';
import { createTestDatabase } from '../../../support/fixtures/database.ts';
import { numbered } from '../../../support/fixtures/inbox-stage.ts';
import { openPrisma } from '../../../support/fixtures/prisma.ts';
import { recordSpans } from '../../../support/fixtures/recorded-spans.ts';
import { until } from '../../../support/fixtures/until.ts';
import { transportAt } from '../../../support/processes/place.ts';
import { brokerAt } from '../broker.ts';

const url = inject('rabbitmqUrl');
const { inSpan, named } = recordSpans();

test('over RabbitMQ a batch of two traces is published and handled in one span each, with a link to each sender', {
  tags: ['trace-leads-to-effect'],
}, async () => {
  const broker = await brokerAt(url);
  onTestFinished(() => broker.close());
  const topic = numbered(`orders-${randomUUID()}`);
  await broker.channel.assertExchange(topic.rules.address, 'topic');
  const made = await createTestDatabase();
  onTestFinished(() => made.drop());
  const place = { kind: 'rabbitmq', url } as const;
  const stage = openFaultStage(
    { onTestFinished },
    { url: made.url, topics: [topic], transport: () => transportAt(place) },
  );
  const prisma = openPrisma(made.url, { max: 15 });
  onTestFinished(() => prisma.$disconnect());
  const running = await consumer(prisma, {
    config: {
      database: { url: made.url },
      temporal: { address: inject('temporalAddress') },
      topics: [topic],
      transports: { only: transportAt(place) },
    },
    group: 'billing',
    batch: { size: 2, wait: '10s' },
    logger: false,
  })
    .onBatch(topic, (_tx, messages) => inSpan(`${messages.length} bills`, async () => undefined))
    .start();
  onTestFinished(() => running.stop());

  await stage.commit(async (tx) => {
    for (const n of [1, 2]) await inSpan(`order ${n}`, () => send(tx, topic, { n }));
  });
  await stage.relay();

  await until(async () => named(`process ${topic.name}`).length > 0, 60_000);
  const senders = named(`send ${topic.name}`).map((span) => span.spanContext());
  expect(new Set(senders.map(({ traceId }) => traceId)).size).toBe(2);
  const links = senders.map(({ traceId, spanId }) => ({ context: { traceId, spanId, isRemote: true } }));
  const both = { 'messaging.system': 'rabbitmq', 'messaging.batch.message_count': 2 };
  expect(named(`publish ${topic.name}`)).toMatchObject([
    { parentSpanContext: undefined, links, attributes: both },
  ]);
  const handled = named(`process ${topic.name}`);
  expect(handled).toMatchObject([{ parentSpanContext: undefined, links, attributes: both }]);
  expect(named('2 bills')[0]?.parentSpanContext?.spanId).toBe(handled[0]?.spanContext().spanId);
});
