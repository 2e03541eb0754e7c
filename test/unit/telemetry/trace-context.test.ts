import * as api from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { topic } from '../../../src/core/topic.ts';
import { prepare } from '../../../src/outbox/prepare.ts';
import { createSpans } from '../../../src/telemetry/spans.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';
const traceparent = `00-${traceId}-${spanId}-01`;
const traceState = api.createTraceState('vendor=1,other=2');
const orders = topic('orders', z.unknown());
const spans = createSpans(async () => api);
const processor = { system: () => 'kafka', topic: 'orders', group: 'billing' };

/** Handles a message with these headers; no SDK is set up here. */
const handling = (headers: Readonly<Record<string, string>>, handle: () => unknown, from = spans): unknown =>
  from.process(processor, { message: { id: 'm-1', headers }, incoming: {} }, handle);

beforeAll(() => {
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager());
});
afterAll(() => api.context.disable());

const spanContext = { traceId, spanId, traceFlags: 1, traceState };
const active = () => api.trace.getSpanContext(api.context.active());
/** Runs `work` inside the span. */
const inSpan = <Result>(work: () => Result, span: api.SpanContext = spanContext): Result =>
  api.context.with(api.trace.setSpanContext(api.context.active(), span), work);

test('a message is stored with the trace in which it is sent', async () => {
  const { headers } = await inSpan(() => prepare(orders, {}, { headers: { tenant: 'a' } }));

  expect(headers).toEqual({ tenant: 'a', traceparent, tracestate: 'vendor=1,other=2' });
});

test('a trace set by the sender stays, and the active one is not added', async () => {
  const given = { traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-00` };

  expect((await inSpan(() => prepare(orders, {}, { headers: given }))).headers).toEqual(given);
});

test('without an active span, and with headers that leave no room, nothing is added', async () => {
  expect((await prepare(orders, {}, {})).headers).toBeUndefined();
  const full = { tenant: 'a'.repeat(32 * 1024 - 20) };
  expect((await inSpan(() => prepare(orders, {}, { headers: full }))).headers).toEqual(full);
});

test('a span that is not sampled or has no state is carried as such', async () => {
  const plain = { traceId, spanId, traceFlags: 0 };

  expect(await inSpan(() => spans.headers(), plain)).toEqual({ traceparent: `00-${traceId}-${spanId}-00` });
});

test('without an SDK a handler runs in the context of its message, also after awaits', async () => {
  const seen = await handling({ traceparent, tracestate: 'vendor=1' }, async () => {
    await Promise.resolve();
    return active();
  });

  expect(seen).toMatchObject({ traceId, spanId, traceFlags: 1, isRemote: true });
  expect((seen as api.SpanContext).traceState?.serialize()).toBe('vendor=1');
});

test.each([
  ['none', undefined],
  ['a header of another form', 'trace me'],
  ['a header of zeros', `00-${'0'.repeat(32)}-${spanId}-01`],
  ['capitals', traceparent.toUpperCase()],
  ['the version ff', traceparent.replace(/^00/, 'ff')],
  ['more fields than version 00 has', `${traceparent}-more`],
])('with %s the handler runs in the existing context', async (_what, value) => {
  const headers = value === undefined ? {} : { traceparent: value };

  expect(await handling(headers, active)).toBeUndefined();
  expect(await inSpan(() => handling(headers, active))).toMatchObject({ spanId });
});

test('a later version of the header is read as far as possible', async () => {
  const later = `${traceparent.replace(/^00/, '01')}-more`;

  expect(await handling({ traceparent: later }, active)).toMatchObject({ traceId });
});

test('without the package nothing is carried or reported, and it is looked for once', async () => {
  let looked = 0;
  const name = '@opentelemetry/absent';
  const without = createSpans(() => {
    looked += 1;
    return import(name) as Promise<typeof api>;
  });

  expect(await inSpan(() => without.headers())).toEqual({});
  expect(await handling({ traceparent }, active, without)).toBeUndefined();
  const untouched = {
    get traceparent(): string {
      throw new Error('The headers are read.');
    },
  };
  // At once, as before there was any tracing: a handler that is not async is not waited for.
  expect(handling(untouched, () => 7, without)).toBe(7);
  expect(looked).toBe(1);
});
