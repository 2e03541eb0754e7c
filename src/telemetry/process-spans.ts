import type { Context, Link, Span, SpanContext, Tracer } from '@opentelemetry/api';
import type { Api } from './api.ts';
import { firstTryOf, noteFirstTry } from './first-tries.ts';
import { endWith, inside, tracerOf } from './span.ts';
import { described, linkTo, senderLinks } from './span-attributes.ts';
import { headersOf, spanOf } from './trace-context.ts';
import type { Processor, TriedMessage } from './traced-message.ts';
import type { WorkEnd } from './work-end.ts';

export function traceProcess(
  api: Api,
  processor: Processor,
  tried: TriedMessage,
  handle: () => unknown,
  end?: WorkEnd,
): unknown {
  const sender = spanOf(api, tried.message.headers);
  if (sender === undefined) return handle();
  const tracer = tracerOf(api);
  const here = api.context.active();
  if (tracer === undefined) return api.context.with(api.trace.setSpanContext(here, sender), handle);
  const { parent, span } = startOne(api, tracer, { processor, tried, sender, name: 'process' });
  return inside(api, span, parent, async () => handle(), end);
}

/** Traces that a message is parked without a try: its later tries link to this span. */
export function tracePark(api: Api, processor: Processor, tried: TriedMessage, end?: WorkEnd): void {
  const sender = spanOf(api, tried.message.headers);
  const tracer = tracerOf(api);
  if (sender === undefined || tracer === undefined || firstTryOf(tried.incoming) !== undefined) return;
  const { span } = startOne(api, tracer, { processor, tried, sender, name: 'park' });
  endWith(api, span, end);
}

interface One {
  readonly name: 'process' | 'park';
  readonly processor: Processor;
  readonly tried: TriedMessage;
  readonly sender: SpanContext;
}

/** A child of the sender's span, or of the active one if that belongs to the same trace. */
function startOne(
  api: Api,
  tracer: Tracer,
  { name, processor, sender, tried }: One,
): { readonly parent: Context; readonly span: Span } {
  const { context, isSpanContextValid, trace } = api;
  const { incoming, message } = tried;
  const here = context.active();
  const active = trace.getSpanContext(here);
  const within = active !== undefined && isSpanContextValid(active);
  const sameTrace = within && active.traceId === sender.traceId;
  const first = spanOf(api, { traceparent: firstTryOf(incoming) ?? '' });
  const links: Link[] = [linkTo(sender, message.id)];
  if (within && !sameTrace) links.push({ context: active });
  if (first !== undefined) links.push({ context: first, attributes: { 'outbox.first_try': true } });
  const parent = sameTrace ? here : trace.setSpanContext(here, sender);
  const span = startProcess(api, tracer, { name, processor, links, tried: [tried] }, parent);
  if (message.attempt !== undefined) span.setAttribute('outbox.attempt', message.attempt);
  return { parent, span };
}

export function traceProcessAll(
  api: Api,
  processor: Processor,
  tried: readonly TriedMessage[],
  handle: () => unknown,
  end?: WorkEnd,
): unknown {
  const [only] = tried;
  if (only !== undefined && tried.length === 1) return traceProcess(api, processor, only, handle, end);
  const tracer = tracerOf(api);
  if (tracer === undefined) return handle();
  const links = senderLinks(
    api,
    tried.map(({ message }) => message),
  );
  if (links.length === 0) return handle();
  const parent = api.context.active();
  const span = startProcess(api, tracer, { name: 'process', processor, links, tried }, parent);
  return inside(api, span, parent, async () => handle(), end);
}

interface StartedProcess {
  readonly name: 'process' | 'park';
  readonly processor: Processor;
  readonly links: Link[];
  readonly tried: readonly TriedMessage[];
}

function startProcess(
  api: Api,
  tracer: Tracer,
  { links, name: operation, processor, tried }: StartedProcess,
  parent: Context,
): Span {
  const { group, system, topic } = processor;
  const { name, attributes } = described({
    name: operation,
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
