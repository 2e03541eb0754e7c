import { context as contexts, type Span, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { consumer } from '../../../src/app/consumer/consumer.ts';
import { startRelay } from '../../../src/app/relay/start-relay.ts';
import { send } from '../../../src/outbox/send.ts';
import { InboxStage, writeEffect } from '../../support/fixtures/inbox-stage.ts';
import { quietTemporal } from '../../support/fixtures/stage.ts';
import { until } from '../../support/fixtures/until.ts';
import { readTopic } from '../../support/kafka/kafka-reader.ts';
import { observer } from '../../support/kafka/kafka-topic.ts';

const exporter = new InMemorySpanExporter();
const tracer = trace.getTracer('shop');
let provider: BasicTracerProvider;

beforeAll(() => {
  quietTemporal();
  contexts.setGlobalContextManager(new AsyncLocalStorageContextManager());
  provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  trace.setGlobalTracerProvider(provider);
});
afterAll(async () => {
  await provider.shutdown();
  trace.disable();
  contexts.disable();
});

/** Runs `work` in a span of its own, which is active during it. */
function inSpan<Result>(name: string, work: (span: Span) => Promise<Result>): Promise<Result> {
  return tracer.startActiveSpan(name, (span) => work(span).finally(() => span.end()));
}

test('one trace leads from the sender through Kafka to every try of the handler, also of parked messages', async () => {
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
        if (message.payload.n === 1 && message.attempt < 3) throw new Error('not yet');
        await writeEffect(tx, 'one', message);
      }),
    )
    .start();
  onTestFinished(() => running.stop());

  await inSpan('order', () =>
    stage.prisma.$transaction((tx) => send(tx, stage.topic, { n: 1 }, { key: 'a' })),
  );
  await stage.prisma.$transaction((tx) => send(tx, stage.topic, { n: 2 }, { key: 'b' }));

  await until(async () => (await stage.effects()).length === 2);
  const spans = exporter.getFinishedSpans();
  const named = (name: string): ReadableSpan | undefined => spans.find((span) => span.name === name);
  const order = named('order')?.spanContext();
  for (const attempt of [1, 2, 3]) {
    expect(named(`try ${attempt} of 1`), `try ${attempt}`).toMatchObject({
      parentSpanContext: { traceId: order?.traceId, spanId: order?.spanId, isRemote: true },
    });
    expect(named(`try ${attempt} of 1`)?.spanContext().traceId).toBe(order?.traceId);
  }
  expect(named('try 1 of 2')?.parentSpanContext, 'sent outside of any trace').toBeUndefined();
  const records = await readTopic(observer(inject('kafkaBrokers')), stage.topic.rules.address);
  expect(records.map(({ headers }) => headers['traceparent'])).toEqual([
    `00-${order?.traceId}-${order?.spanId}-01`,
    undefined,
  ]);
});
