import * as api from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { OutboxError } from '../../../src/core/errors.ts';
import { createSpans } from '../../../src/telemetry/spans.ts';

const spans = createSpans(async () => api);
const exporter = new InMemorySpanExporter();
const processor = { system: () => 'kafka', topic: 'orders', group: 'billing' };
const traceIdOf = (n: number): string => String(n).padStart(32, '0');
const headersOf = (n: number, flags = '01'): Record<string, string> => ({
  traceparent: `00-${traceIdOf(n)}-${String(n).padStart(16, '0')}-${flags}`,
  'secret-header': 'secret',
});
const tried = (n: number, attempt = 1) => ({
  message: { id: `m-${n}`, headers: headersOf(n), attempt },
  incoming: {},
});
/** Publishes the messages; `true`: with an own trace each, `false`: not traced. */
const publish = (traced: readonly boolean[], outcome?: string): Promise<number> => {
  const messages = traced.map((one, n) => ({ id: `m-${n + 1}`, headers: one ? headersOf(n + 1) : null }));
  return spans.publish(
    { topic: 'orders', system: 'kafka', messages },
    async () => messages.length,
    () => outcome,
  );
};

beforeEach(() => {
  exporter.reset();
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager());
  api.trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  );
});
afterEach(() => {
  api.trace.disable();
  api.context.disable();
});

function only(): ReadableSpan {
  const [span, ...others] = exporter.getFinishedSpans();
  expect(others).toEqual([]);
  if (span === undefined) throw new Error('No span was exported.');
  return span;
}
const linked = (span: ReadableSpan) => span.links.map(({ context }) => Number(context.traceId));

test('send makes a producer span, whose context the message gets', async () => {
  const headers = await spans.send(
    'orders',
    1,
    () => spans.headers(),
    () => 'm-1',
  );

  const span = only();
  expect(span).toMatchObject({ name: 'send orders', kind: api.SpanKind.PRODUCER, ended: true });
  expect(span.attributes).toEqual({
    'messaging.system': 'outbox',
    'messaging.operation.name': 'send',
    'messaging.operation.type': 'create',
    'messaging.destination.name': 'orders',
    'messaging.message.id': 'm-1',
  });
  const { spanId, traceId } = span.spanContext();
  expect(headers).toEqual({ traceparent: `00-${traceId}-${spanId}-01` });
});

test('a batch is sent in one span, which counts its messages', async () => {
  await spans.send(
    'orders',
    3,
    async () => undefined,
    () => 'm-1',
  );

  expect(only().attributes).toEqual({
    'messaging.system': 'outbox',
    'messaging.operation.name': 'send',
    'messaging.operation.type': 'send',
    'messaging.destination.name': 'orders',
    'messaging.batch.message_count': 3,
  });
});

test('a single message is published in a child of its sender, also inside of another span', async () => {
  await api.trace.getTracer('temporal').startActiveSpan('activity', async () => {
    expect(await publish([true])).toBe(1);
  });

  const span = only();
  expect(span).toMatchObject({ name: 'publish orders', kind: api.SpanKind.CLIENT });
  expect(span.spanContext().traceId).toBe(traceIdOf(1));
  expect(linked(span)).toEqual([1]);
  expect(span.attributes).toEqual({
    'messaging.system': 'kafka',
    'messaging.operation.name': 'publish',
    'messaging.operation.type': 'send',
    'messaging.destination.name': 'orders',
    'messaging.message.id': 'm-1',
  });
});

test('a batch is published in one span of its own trace, with a link for each traced message and its id', async () => {
  await publish([true, false, true]);

  const span = only();
  expect(span.parentSpanContext).toBeUndefined();
  expect(linked(span)).toEqual([1, 3]);
  expect(span.links.map(({ attributes }) => attributes)).toEqual([
    { 'messaging.message.id': 'm-1' },
    { 'messaging.message.id': 'm-3' },
  ]);
  expect(span.attributes).toMatchObject({ 'messaging.batch.message_count': 3 });
  expect(span.attributes).not.toHaveProperty('messaging.message.id');
  expect(span.status.code).toBe(api.SpanStatusCode.UNSET);
});

test('a batch has at most 128 links', async () => {
  await publish(Array.from({ length: 300 }, () => true));

  const span = only();
  expect(span.links).toHaveLength(128);
  expect(span.droppedLinksCount).toBe(0);
});

test('what is not published is an error with its outcome as its type', async () => {
  await publish([true], 'rejected');

  expect(only()).toMatchObject({
    status: { code: api.SpanStatusCode.ERROR },
    attributes: { 'error.type': 'rejected' },
  });
});

test('a batch without a recorded sender is published without a span', async () => {
  await publish([false, false]);
  const messages = [1, 2].map((n) => ({ id: `m-${n}`, headers: headersOf(n, '00') }));
  await spans.publish(
    { topic: 'orders', system: 'kafka', messages },
    async () => undefined,
    () => undefined,
  );

  expect(exporter.getFinishedSpans()).toEqual([]);
});

test('a handler runs in a consumer span, the child of its sender', async () => {
  let within: api.SpanContext | undefined;
  await spans.process(processor, tried(1), async () => {
    await Promise.resolve();
    within = api.trace.getActiveSpan()?.spanContext();
  });

  const span = only();
  expect(span).toMatchObject({ name: 'process orders', kind: api.SpanKind.CONSUMER });
  expect(span.spanContext()).toEqual(within);
  expect(span.parentSpanContext).toMatchObject({ traceId: traceIdOf(1), isRemote: true });
  expect(linked(span)).toEqual([1]);
  expect(span.attributes).toEqual({
    'messaging.system': 'kafka',
    'messaging.operation.name': 'process',
    'messaging.operation.type': 'process',
    'messaging.destination.name': 'orders',
    'messaging.consumer.group.name': 'billing',
    'messaging.message.id': 'm-1',
    'outbox.attempt': 1,
  });
});

test('an active span of the same trace stays the parent, one of another trace is linked to', async () => {
  const within = (n: number): api.Context =>
    api.trace.setSpanContext(api.context.active(), {
      traceId: traceIdOf(n),
      spanId: 'f'.repeat(16),
      traceFlags: 1,
    });
  await api.context.with(within(1), () => spans.process(processor, tried(1), async () => undefined));
  await api.context.with(within(2), () => spans.process(processor, tried(1), async () => undefined));

  const [same, other] = exporter.getFinishedSpans();
  expect(same?.parentSpanContext?.spanId).toBe('f'.repeat(16));
  expect(same && linked(same)).toEqual([1]);
  expect(other?.parentSpanContext).toMatchObject({ traceId: traceIdOf(1), isRemote: true });
  expect(other && linked(other)).toEqual([1, 2]);
});

test('later tries link to the first one, and a failure has the class or the code of its error only', async () => {
  const { incoming, message } = tried(1);
  const failing = (attempt: number, error: unknown) =>
    spans.process(processor, { incoming, message: { ...message, attempt } }, () => Promise.reject(error));
  await expect(failing(1, new RangeError('secret'))).rejects.toThrow('secret');
  await expect(failing(2, new OutboxError('OUTBOX_HANDLER_STUCK', 'secret'))).rejects.toThrow('secret');
  await expect(failing(3, 'secret')).rejects.toBe('secret');

  const tries = exporter.getFinishedSpans();
  const first = tries[0]?.spanContext().spanId;
  expect(tries.map(({ attributes }) => attributes['error.type'])).toEqual([
    'RangeError',
    'OUTBOX_HANDLER_STUCK',
    '_OTHER',
  ]);
  expect(tries.map((span) => span.links.slice(1).map(({ context }) => context.spanId))).toEqual([
    [],
    [first],
    [first],
  ]);
  const told = JSON.stringify(
    tries.map(({ attributes, events, links, status }) => ({ attributes, events, links, status })),
  );
  expect(told).not.toContain('secret');
});

test('a handler of many messages runs in one span with a link to each sender', async () => {
  await spans.processAll(processor, [tried(1), tried(2)], async () => undefined);

  const span = only();
  expect(span.parentSpanContext).toBeUndefined();
  expect(linked(span)).toEqual([1, 2]);
  expect(span.attributes).toMatchObject({ 'messaging.batch.message_count': 2 });
});

test('a message of an unknown topic, and one without a trace', async () => {
  await spans.process({ ...processor, topic: null }, tried(1), async () => undefined);
  await spans.process(
    processor,
    { message: { id: 'm-2', headers: {} }, incoming: {} },
    async () => undefined,
  );

  const span = only();
  expect(span.name).toBe('process');
  expect(span.attributes).not.toHaveProperty('messaging.destination.name');
});

test('without an SDK no span is made, not even one that does nothing', {
  tags: ['trace-leads-to-effect'],
}, async () => {
  api.trace.disable();
  const made: string[] = [];
  const started = vi.spyOn(api.ProxyTracer.prototype, 'startSpan').mockImplementation((name) => {
    made.push(name);
    return api.trace.wrapSpanContext(api.INVALID_SPAN_CONTEXT);
  });
  try {
    const headers = await spans.send(
      'orders',
      1,
      () => spans.headers(),
      () => 'm-1',
    );
    await publish([true, true]);
    await spans.process(processor, tried(1), () => undefined);
    await spans.processAll(processor, [tried(1), tried(2)], () => undefined);
    expect(headers).toEqual({});
  } finally {
    started.mockRestore();
  }

  expect(made).toEqual([]);
  expect(exporter.getFinishedSpans()).toEqual([]);
});
