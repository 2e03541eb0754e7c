import type { Context, Link, Span, Tracer } from '@opentelemetry/api';
import type { Api } from './api.ts';
import { firstTryOf, noteFirstTry } from './first-tries.ts';
import { inside, tracerOf } from './span.ts';
import { described, linkTo, senderLinks } from './span-attributes.ts';
import { headersOf, spanOf } from './trace-context.ts';
import type { Processor, TriedMessage } from './traced-message.ts';

export function traceProcess(
  api: Api,
  processor: Processor,
  { incoming, message }: TriedMessage,
  handle: () => unknown,
): unknown {
  const { context, isSpanContextValid, trace } = api;
  const sender = spanOf(api, message.headers);
  if (sender === undefined) return handle();
  const here = context.active();
  const tracer = tracerOf(api);
  if (tracer === undefined) return context.with(trace.setSpanContext(here, sender), handle);
  const active = trace.getSpanContext(here);
  const within = active !== undefined && isSpanContextValid(active);
  const sameTrace = within && active.traceId === sender.traceId;
  const first = spanOf(api, { traceparent: firstTryOf(incoming) ?? '' });
  const links: Link[] = [linkTo(sender, message.id)];
  if (within && !sameTrace) links.push({ context: active });
  if (first !== undefined) links.push({ context: first, attributes: { 'outbox.first_try': true } });
  const parent = sameTrace ? here : trace.setSpanContext(here, sender);
  const span = startProcess(api, tracer, { processor, links, tried: [{ incoming, message }] }, parent);
  if (message.attempt !== undefined) span.setAttribute('outbox.attempt', message.attempt);
  return inside(api, span, parent, async () => handle());
}

export function traceProcessAll(
  api: Api,
  processor: Processor,
  tried: readonly TriedMessage[],
  handle: () => unknown,
): unknown {
  const [only] = tried;
  if (only !== undefined && tried.length === 1) return traceProcess(api, processor, only, handle);
  const tracer = tracerOf(api);
  if (tracer === undefined) return handle();
  const links = senderLinks(
    api,
    tried.map(({ message }) => message),
  );
  if (links.length === 0) return handle();
  const parent = api.context.active();
  const span = startProcess(api, tracer, { processor, links, tried }, parent);
  return inside(api, span, parent, async () => handle());
}

interface StartedProcess {
  readonly processor: Processor;
  readonly links: Link[];
  readonly tried: readonly TriedMessage[];
}

function startProcess(
  api: Api,
  tracer: Tracer,
  { links, processor, tried }: StartedProcess,
  parent: Context,
): Span {
  const { group, system, topic } = processor;
  const { name, attributes } = described({
    name: 'process',
    type: 'process',
    system: system(),
    topic,
    group,
    count: tried.length,
    id: tried[0]?.message.id,
  });
  const span = tracer.startSpan(name, { kind: api.SpanKind.CONSUMER, attributes, links }, parent);
  const { traceparent } = headersOf(api, span.spanContext());
  for (const { incoming } of tried) noteFirstTry(incoming, traceparent);
  return span;
}
