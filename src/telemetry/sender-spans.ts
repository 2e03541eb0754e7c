import type { Api } from './api.ts';
import { fail, inside, tracerOf } from './span.ts';
import { described, senderLinks } from './span-attributes.ts';
import type { TraceHeaders } from './traced-message.ts';

/** Messages on their way to a broker. */
export interface PublishedBatch {
  readonly topic: string;
  /** Name of the transport. */
  readonly system: string;
  readonly messages: readonly { readonly id: string; readonly headers: TraceHeaders | null }[];
}

export function traceSend<Result>(
  api: Api,
  { count, topic }: { readonly topic: string; readonly count: number },
  store: () => Promise<Result>,
  idOf: (stored: Result) => string | undefined,
): Promise<Result> {
  const tracer = tracerOf(api);
  if (tracer === undefined) return store();
  // Neither the broker nor the address is known here: the message goes to the outbox.
  const type = count === 1 ? 'create' : 'send';
  const { name, attributes } = described({ name: 'send', type, system: 'outbox', topic, count });
  const span = tracer.startSpan(name, { kind: api.SpanKind.PRODUCER, attributes });
  return inside(api, span, api.context.active(), async () => {
    const stored = await store();
    const id = count === 1 ? idOf(stored) : undefined;
    if (id !== undefined) span.setAttribute('messaging.message.id', id);
    return stored;
  });
}

export function tracePublish<Result>(
  api: Api,
  { messages, system, topic }: PublishedBatch,
  publish: () => Promise<Result>,
  failureOf: (result: Result) => string | undefined,
): Promise<Result> {
  const tracer = tracerOf(api);
  if (tracer === undefined) return publish();
  const links = senderLinks(api, messages);
  const [first] = links;
  if (first === undefined) return publish();
  const count = messages.length;
  const operation = { name: 'publish', type: 'send', system, topic, count, id: messages[0]?.id } as const;
  const { name, attributes } = described(operation);
  // The activity that drains a lane lasts for minutes: as a parent it would collect the spans of all batches.
  const { ROOT_CONTEXT, trace } = api;
  const parent = count === 1 ? trace.setSpanContext(ROOT_CONTEXT, first.context) : ROOT_CONTEXT;
  const span = tracer.startSpan(name, { kind: api.SpanKind.CLIENT, attributes, links }, parent);
  return inside(api, span, parent, async () => {
    const result = await publish();
    const failure = failureOf(result);
    if (failure !== undefined) fail(api, span, failure);
    return result;
  });
}
