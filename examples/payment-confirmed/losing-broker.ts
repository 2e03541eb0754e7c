import { Kafka, logLevel } from 'kafkajs';
import type { OutgoingMessage, PublishOutcome, Transport } from 'temporal-outbox/transports';
import { overRocketmq } from './broker.ts';

/** A broker that acknowledges and loses, for the story. */
export interface LosingBroker {
  readonly transport: Transport;
  /** When each copy of a message was acknowledged, by the id of the message. */
  readonly acknowledged: ReadonlyMap<string, readonly number[]>;
  /** Loses the next copies of what contains this text. */
  lose(text: string, copies: number): void;
  close(): Promise<void>;
}

/** How a broker loses one message, and how this ends. */
interface Loss {
  loseOne(topic: string, message: OutgoingMessage): Promise<PublishOutcome>;
  close(): Promise<void>;
}

export async function losingBroker(real: Transport): Promise<LosingBroker> {
  const lost = new Map<string, number>();
  const acknowledged = new Map<string, number[]>();
  const { loseOne, close } = overRocketmq ? lossByRocketmq : await lossByKafka();

  const loses = ({ id, payload }: OutgoingMessage): boolean => {
    const text = [...lost.keys()].find((one) => id === one || payload.includes(one));
    const copies = text === undefined ? 0 : (lost.get(text) ?? 0);
    if (text !== undefined) lost.set(text, copies - 1);
    return copies > 0;
  };

  const transport: Transport = {
    ...real,
    async publish(batch) {
      const outcomes: PublishOutcome[] = [];
      // One by one, so that the offsets are in the order of the messages.
      for (const message of batch.messages) {
        if (loses(message)) outcomes.push(await loseOne(batch.address, message));
        else {
          const result = await real.publish({ ...batch, messages: [message] });
          outcomes.push(...result.outcomes);
          if (result.hold)
            return { ...result, outcomes: [...outcomes, ...rest(batch.messages.length - outcomes.length)] };
        }
        acknowledged.set(message.id, [...(acknowledged.get(message.id) ?? []), Date.now()]);
      }
      return { outcomes };
    },
  };
  return {
    transport,
    acknowledged,
    lose: (text, copies) => void lost.set(text, copies),
    close,
  };
}

/** What Kafka loses has an offset that no consumer is given: it was written in a transaction that is aborted. */
async function lossByKafka(): Promise<Loss> {
  const brokers = (process.env['KAFKA_BROKERS'] ?? 'localhost:9092').split(',');
  const producer = new Kafka({ brokers, logLevel: logLevel.NOTHING }).producer({
    transactionalId: `losing-broker-${process.pid}`,
    idempotent: true,
    maxInFlightRequests: 1,
  });
  await producer.connect();
  return {
    async loseOne(topic, { key, payload }) {
      const transaction = await producer.transaction();
      const [at] = await transaction.send({ topic, messages: [{ key, value: payload }] });
      await transaction.abort();
      return { kind: 'acknowledged', partition: at?.partition ?? null, offset: at?.baseOffset ?? null };
    },
    close: () => producer.disconnect(),
  };
}

/** What RocketMQ loses is never written: its answers do not locate a message anyway. */
const lossByRocketmq: Loss = {
  loseOne: async () => ({ kind: 'acknowledged', partition: null, offset: null }),
  close: async () => undefined,
};

/** A connection of the ledger that loses the first receipt of some messages. */
export function losingReceipts(real: Transport): { transport: Transport; lose(messageId: string): void } {
  const lost = new Set<string>();
  const transport: Transport = {
    ...real,
    async publish(batch) {
      const losing = [...lost].find((id) => batch.messages.some(({ payload }) => payload.includes(id)));
      if (losing === undefined || batch.address !== 'outbox-receipts') return real.publish(batch);
      lost.delete(losing);
      return {
        outcomes: batch.messages.map(() => ({ kind: 'acknowledged', partition: null, offset: null })),
      };
    },
  };
  return { transport, lose: (messageId) => void lost.add(messageId) };
}

const rest = (count: number): PublishOutcome[] =>
  Array.from({ length: count }, () => ({ kind: 'deferred', onWire: false }));
