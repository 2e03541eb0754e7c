import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { consumer } from '../../../src/app/consumer/consumer.ts';
import { startRelay } from '../../../src/app/relay/start-relay.ts';
import { send } from '../../../src/outbox/send.ts';
import { InboxStage, writeEffect } from '../../support/fixtures/inbox-stage.ts';
import { recordSpans } from '../../support/fixtures/recorded-spans.ts';
import { quietTemporal } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';
import { readTopic } from '../../support/kafka/kafka-reader.ts';
import { observer } from '../../support/kafka/kafka-topic.ts';

const { inSpan, named } = recordSpans();

beforeAll(() => quietTemporal());

test('one trace leads from the sender through a delay, a failed try and a parked retry to the handled message', {
  tags: ['trace-leads-to-effect'],
}, async () => {
  const stage = await InboxStage.create(1);
  onTestFinished(() => stage.end());
  const relay = startRelay(stage.config);
  onTestFinished(() => relay.stop());
  const running = await consumer(stage.prisma, {
    config: stage.config,
    group: stage.group,
    quickRetries: [],
    retry: [50, 50],
    report: () => undefined,
  })
    .on(stage.topic, (tx, message) =>
      inSpan(`try ${message.attempt} of ${message.payload.n}`, async () => {
        if (message.payload.n === 1 && message.attempt < 3) throw new RangeError('not yet');
        await writeEffect(tx, 'one', message);
      }),
    )
    .start();
  onTestFinished(() => running.stop());

  await stage.prisma.$transaction((tx) => send(tx, stage.topic, { n: 2 }, { key: 'b' }));
  // Otherwise a relay that starts slowly may publish both in one batch.
  await until(async () => (await stage.effects()).length === 1);
  await inSpan('order', () =>
    stage.prisma.$transaction((tx) => send(tx, stage.topic, { n: 1 }, { key: 'a', after: '1s' })),
  );

  await until(async () => (await stage.effects()).length === 2);
  // The last span ends after the commit of its effect.
  const { name: topicName } = stage.topic;
  await until(async () => named(`process ${topicName}`).length === 4);
  const [order] = named('order');
  const trace1 = order?.spanContext().traceId;
  const ofTrace = (name: string): readonly ReadableSpan[] =>
    named(name).filter((span) => span.spanContext().traceId === trace1);

  const [sent] = ofTrace(`send ${topicName}`);
  expect(sent?.parentSpanContext?.spanId, 'send').toBe(order?.spanContext().spanId);
  const sender = { traceId: trace1, spanId: sent?.spanContext().spanId, isRemote: true };
  const id = sent?.attributes['messaging.message.id'];
  const [published] = ofTrace(`publish ${topicName}`);
  expect(published, 'publish').toMatchObject({
    parentSpanContext: sender,
    attributes: { 'messaging.system': 'kafka', 'messaging.message.id': id },
  });
  expect(seconds(published) - seconds(sent), 'the delay').toBeGreaterThan(0.9);
  const tries = ofTrace(`process ${topicName}`);
  const [first] = tries;
  for (const [n, span] of tries.entries()) {
    expect(span, `try ${n + 1}`).toMatchObject({
      parentSpanContext: sender,
      attributes: {
        'messaging.system': 'kafka',
        'messaging.consumer.group.name': stage.group,
        'messaging.message.id': id,
        'outbox.attempt': n + 1,
      },
    });
    expect(span.attributes['error.type']).toBe(n < 2 ? 'RangeError' : undefined);
    const ids = [sender.spanId, ...(n > 0 ? [first?.spanContext().spanId] : [])];
    expect(
      span.links.map(({ context }) => context.spanId),
      `links of try ${n + 1}`,
    ).toEqual(ids);
    const [own] = ofTrace(`try ${n + 1} of 1`);
    expect(own?.parentSpanContext?.spanId, "the handler's own span").toBe(span.spanContext().spanId);
  }
  expect(tries).toHaveLength(3);
  const root = named(`send ${topicName}`).find((span) => span.spanContext().traceId !== trace1);
  expect(root?.parentSpanContext, 'sent outside of any trace').toBeUndefined();
  expect(named('try 1 of 2')[0]?.spanContext().traceId).toBe(root?.spanContext().traceId);
  const records = await readTopic(observer(inject('kafkaBrokers')), stage.topic.rules.address);
  expect(records.map(({ headers }) => headers['traceparent'])).toEqual(
    [root, sent].map((span) => `00-${span?.spanContext().traceId}-${span?.spanContext().spanId}-01`),
  );
  expect(records.flatMap(({ headers }) => Object.keys(headers))).not.toContain('baggage');
});

function seconds(span: ReadableSpan | undefined): number {
  const [whole = 0, nanos = 0] = span?.startTime ?? [];
  return whole + nanos / 1e9;
}
