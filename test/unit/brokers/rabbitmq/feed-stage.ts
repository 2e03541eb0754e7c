import type { Channel, ConsumeMessage } from 'amqplib';
import { vi } from 'vitest';
import { Prefetch } from '../../../../src/brokers/rabbitmq/source/prefetch.ts';
import { QueueFeed } from '../../../../src/brokers/rabbitmq/source/queue-feed.ts';
import type { IncomingBatch } from '../../../../src/brokers/source.ts';

/** Lets this time pass, on a clock that otherwise does not move. */
export const tick = (ms = 0): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

/** As amqplib delivers it. */
export function delivery(id: string | undefined, tag = 1, bytes = 1, more: object = {}): ConsumeMessage {
  return {
    content: Buffer.alloc(bytes, 'x'),
    fields: { deliveryTag: tag },
    properties: { messageId: id, headers: {}, ...more },
  } as unknown as ConsumeMessage;
}

interface Settings {
  readonly order?: boolean;
  readonly batchSize?: number;
  readonly holdForMs?: number;
}

/** A feed that hands batches to the test; `end` ends the one in hand. */
export function stage({ order = true, batchSize = 10, holdForMs = 60_000 }: Settings = {}) {
  const acked: string[] = [];
  const batches: IncomingBatch[] = [];
  const slots = { free: 1, given: 0 };
  const broken = { channel: false };
  let end = (): void => undefined;
  const channel = {
    ack(message: ConsumeMessage, all = false) {
      if (broken.channel) throw new Error('Channel closed');
      acked.push(`${message.fields.deliveryTag}${all ? ' and before' : ''}`);
    },
  } as unknown as Channel;
  const prefetch = new Prefetch(batchSize);
  const feed = new QueueFeed({
    address: 'orders',
    channel,
    order,
    prefetch,
    holdForMs,
    subscription: {
      batchSize,
      handle(batch) {
        batches.push(batch);
        return new Promise((resolve) => {
          end = resolve;
        });
      },
    },
    take() {
      if (slots.free === 0) return false;
      slots.free -= 1;
      return true;
    },
    give() {
      slots.free += 1;
      slots.given += 1;
    },
  });
  return {
    feed,
    prefetch,
    acked,
    batches,
    slots,
    broken,
    receive: (...ids: readonly string[]) => {
      for (const id of ids) feed.receive(delivery(id, Number(id)));
    },
    /** Does this with the batch in hand, ends it, and waits until it is acknowledged. */
    handled: async (work: (batch: IncomingBatch) => void = acknowledgeAll) => {
      const batch = batches.at(-1);
      if (batch !== undefined) work(batch);
      end();
      await tick(5);
    },
    /** Acknowledges the batch in hand, and ends it. */
    end: async () => {
      const batch = batches.at(-1);
      if (batch !== undefined) acknowledgeAll(batch);
      end();
      await tick();
    },
  };
}

function acknowledgeAll(batch: IncomingBatch): void {
  for (const message of batch.messages) batch.acknowledge(message);
}

export const offsets = (batches: readonly IncomingBatch[]): readonly (readonly string[])[] =>
  batches.map(({ messages }) => messages.map(({ offset }) => offset));
