import { setTimeout as delay } from 'node:timers/promises';
import { ProduceAcks, Producer, stringSerializers } from '@platformatic/kafka';
import { Kafka, logLevel } from 'kafkajs';
import type { ContenderInput } from '../contenders/protocol.ts';

/** A message on its way: the body as stored, about 250 bytes. */
export interface Outgoing {
  readonly id: string;
  readonly key: string;
  readonly body: string;
  /** ISO 8601. */
  readonly time: string;
}

/** Sends messages to one topic. */
export interface Sender {
  /** Resolves when all replicas have all of them. */
  send(messages: readonly Outgoing[]): Promise<void>;
  close(): Promise<void>;
}

/** With four partitions and half a kilobyte for each, about 600 kB in a record batch. */
const mostAtOnce = 5_000;

/** The body that every contender sends. */
export const text = 'x'.repeat(236);

export function keyOf(index: number): string {
  return `key-${index % 1_000}`;
}

/**
 * A producer of the client that `setting.client` names, `acks` all, with the six headers of CloudEvents that ours sends: one
 * request for what is sent at once, with one record batch for each partition.
 *
 * With `setting.gather` above 0, what is sent within so many milliseconds goes as one request, as producers of Java do by
 * `linger.ms`; neither client can do so by itself.
 */
export async function connectSender({ brokers, setting, topic }: ContenderInput): Promise<Sender> {
  const sender =
    setting['client'] === 'platformatic'
      ? await connectPlatformatic(brokers, topic)
      : await connectKafkajs(brokers, topic);
  const gatherMs = Number(setting['gather'] ?? 0);
  return gatherMs > 0 ? gathering(sender, gatherMs) : inPieces(sender);
}

/** A broker refuses a record batch of more than a megabyte. */
function inPieces(sender: Sender): Sender {
  return {
    async send(messages) {
      const sent: Promise<void>[] = [];
      for (let from = 0; from < messages.length; from += mostAtOnce)
        sent.push(sender.send(messages.slice(from, from + mostAtOnce)));
      await Promise.all(sent);
    },
    close: () => sender.close(),
  };
}

function headersOf(topic: string, { id, time }: Outgoing): Record<string, string> {
  return {
    ce_specversion: '1.0',
    ce_id: id,
    ce_source: 'outbox/0f3d2b1c-77aa-4b0e-9d7b-6a2f1f0a9c55',
    ce_type: topic,
    ce_time: time,
    'content-type': 'application/json',
  };
}

/** What most programs use. */
async function connectKafkajs(brokers: readonly string[], topic: string): Promise<Sender> {
  const client = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING });
  const producer = client.producer({ allowAutoTopicCreation: false });
  await producer.connect();
  return {
    async send(messages) {
      await producer.send({
        topic,
        acks: -1,
        messages: messages.map((message) => ({
          key: message.key,
          value: message.body,
          headers: headersOf(topic, message),
        })),
      });
    },
    close: () => producer.disconnect(),
  };
}

/** The fastest that is written in JavaScript. */
async function connectPlatformatic(brokers: readonly string[], topic: string): Promise<Sender> {
  const producer = new Producer({
    clientId: 'bench',
    bootstrapBrokers: [...brokers],
    serializers: stringSerializers,
    acks: ProduceAcks.ALL,
    autocreateTopics: false,
  });
  return {
    async send(messages) {
      await producer.send({
        messages: messages.map((message) => ({
          topic,
          key: message.key,
          value: message.body,
          headers: headersOf(topic, message),
        })),
      });
    },
    close: () => producer.close(),
  };
}

function gathering(sender: Sender, ms: number): Sender {
  let open: { readonly messages: Outgoing[]; readonly sent: Promise<void> } | undefined;
  const begin = (): NonNullable<typeof open> => {
    const messages: Outgoing[] = [];
    const sent = delay(ms).then(() => {
      open = undefined;
      return sender.send(messages);
    });
    return { messages, sent };
  };
  return {
    send(messages) {
      open ??= begin();
      open.messages.push(...messages);
      return open.sent;
    },
    close: () => sender.close(),
  };
}
