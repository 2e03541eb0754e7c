import type { Attributes, SpanContext } from '@opentelemetry/api';
import type { Api } from './api.ts';
import { spanOf } from './trace-context.ts';
import type { TraceHeaders } from './traced-message.ts';

/** What is done to messages, by OpenTelemetry's semantic conventions of messaging. */
interface Operation {
  readonly name: 'send' | 'publish' | 'process' | 'park';
  readonly type: 'create' | 'send' | 'process';
  readonly system: string;
  /** Name of the topic; `null`: unknown. */
  readonly topic: string | null;
  readonly group?: string;
  readonly count: number;
  /** Of a single message, if it is known already. */
  readonly id?: string | undefined;
}

/** Name and attributes of a span: never a payload, a key, a ref or the text of an error. */
export function described({ count, group, id, name, system, topic, type }: Operation): {
  readonly name: string;
  readonly attributes: Attributes;
} {
  return {
    name: topic === null ? name : `${name} ${topic}`,
    attributes: {
      'messaging.system': system,
      'messaging.operation.name': name,
      'messaging.operation.type': type,
      ...(topic !== null && { 'messaging.destination.name': topic }),
      ...(group !== undefined && { 'messaging.consumer.group.name': group }),
      // The conventions reserve the count for batches.
      ...(count > 1 && { 'messaging.batch.message_count': count }),
      ...(count === 1 && id !== undefined && { 'messaging.message.id': id }),
    },
  };
}

/** The default limit of an SDK, which would drop the rest. */
const mostLinks = 128;

/** A link to the span in which a message was sent. */
export interface SenderLink {
  readonly context: SpanContext;
  readonly attributes: Attributes;
}

/** Links to the senders of the first traced messages of a batch. Spans that nobody records are of no use to a reader. */
export function senderLinks(
  api: Api,
  messages: Iterable<{ readonly id: string; readonly headers: TraceHeaders | null }>,
): SenderLink[] {
  const links: SenderLink[] = [];
  for (const message of messages) {
    const sender = message.headers === null ? undefined : spanOf(api, message.headers);
    if (sender === undefined || (sender.traceFlags & api.TraceFlags.SAMPLED) === 0) continue;
    links.push(linkTo(sender, message.id));
    if (links.length === mostLinks) break;
  }
  return links;
}

/** A link to the span in which this message was sent. */
export function linkTo(context: SpanContext, id: string): SenderLink {
  return { context, attributes: { 'messaging.message.id': id } };
}
