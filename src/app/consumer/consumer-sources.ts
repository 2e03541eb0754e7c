import { isReceiving } from '../../brokers/receiving-transport.ts';
import type { Source } from '../../brokers/source.ts';
import type { Transport } from '../../brokers/transport.ts';
import { type Config, transportOf } from '../../config/config.ts';
import { OutboxError } from '../../core/errors.ts';
import type { Topic } from '../../core/topic.ts';
import type { ConsumerReport } from '../../inbox/consumer-event.ts';
import { tellingSource } from './consumer-servers.ts';

/**
 * Makes a function that returns the source of a topic: it reads from the broker that the topic's transport sends to. Topics
 * of one transport share one source.
 *
 * The function throws OutboxError `OUTBOX_SOURCE_UNKNOWN` for a transport that can only send.
 */
export function sourcesOf(
  config: Pick<Config, 'transports'>,
  report: ConsumerReport,
): (topic: Topic) => Source {
  const sources = new Map<Transport, Source>();
  return (topic) => {
    const { name, transport } = transportOf(config, topic);
    const known = sources.get(transport);
    if (known !== undefined) return known;
    if (!isReceiving(transport)) {
      throw new OutboxError(
        'OUTBOX_SOURCE_UNKNOWN',
        `Messages of the topic "${topic.name}" cannot be received: its transport "${name}" (${transport.name}) can only send.`,
        { details: { topic: topic.name, transport: name } },
      );
    }
    const source = tellingSource(transport.source(), report);
    sources.set(transport, source);
    return source;
  };
}
