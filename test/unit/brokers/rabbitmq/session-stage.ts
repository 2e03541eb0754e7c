import { onTestFinished } from 'vitest';
import { amqplib } from '../../../../src/brokers/rabbitmq/client/amqplib.ts';
import { rabbitmqSource } from '../../../../src/brokers/rabbitmq/source/rabbitmq-source.ts';
import {
  type RabbitmqOptions,
  rabbitmqSettings,
} from '../../../../src/brokers/rabbitmq/transport/rabbitmq-options.ts';
import type { IncomingBatch } from '../../../../src/brokers/source.ts';
import { fakeTimeUntilEnd } from '../../../support/fixtures/fake-time.ts';
import { gate } from '../../../support/fixtures/gate.ts';
import { type ScriptedRabbitmq, scriptedRabbitmq } from '../../../support/rabbitmq/scripted-rabbitmq.ts';
import { overWire, untilOnWire } from '../../../support/rabbitmq/wire-time.ts';
import { acknowledgeAll, subscriberOf } from '../subscriber.ts';

export const times = { bindEveryMs: 50_000, holdForMs: 20_000 } as const;

/** A source at a server that answers what the test sets, on a clock that moves only when it lets time pass. */
export async function stage(options: Partial<RabbitmqOptions> = {}, concurrency = 10) {
  const server = await scriptedRabbitmq();
  // It keeps the timers that it finds when it is loaded.
  amqplib();
  fakeTimeUntilEnd();
  const { connection, queues } = rabbitmqSettings({
    url: server.url,
    requestTimeout: 1_000,
    heartbeat: '60s',
    ...options,
  });
  return {
    server,
    ...subscriberOf(rabbitmqSource(connection, queues, times), { concurrency, batchSize: 10 }),
  };
}

/** Holds batches until the test ends them, and notes them. */
export function handler() {
  const batches: IncomingBatch[] = [];
  const resume = gate();
  const hold = { these: (_batch: IncomingBatch) => false };
  onTestFinished(() => resume.open());
  return {
    batches,
    hold,
    open: resume.open,
    handle: async (batch: IncomingBatch): Promise<void> => {
      batches.push(batch);
      if (hold.these(batch)) await resume.opened;
      acknowledgeAll(batch);
    },
    /** The messages so far, by address. */
    of: (address: string): readonly string[] =>
      batches
        .filter((batch) => batch.address === address)
        .flatMap(({ messages }) => messages.map(({ body }) => Buffer.from(body ?? []).toString())),
  };
}

/** Where the subscription receives from, so far. */
export const assigned = (told: { readonly assigned: readonly (readonly { address: string }[])[] }) =>
  told.assigned.map((partitions) => partitions.map(({ address }) => address));

/** Delivers these to a queue as soon as somebody receives from it. */
export async function deliver(server: ScriptedRabbitmq, queue: string, ...ids: readonly string[]) {
  await untilOnWire(() => server.consumers.has(queue));
  server.deliver(queue, ...ids);
}

export { overWire, untilOnWire };
