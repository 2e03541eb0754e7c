import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import type { IncomingMessage, Source, Subscribed, Subscription } from '../../../src/brokers/source.ts';
import type { OutgoingBatch, OutgoingMessage, Transport } from '../../../src/transports.ts';
import { until } from '../../support/fixtures/until.ts';

/** A batch of such messages. */
export function batchOf(address: string, ...messages: readonly Partial<OutgoingMessage>[]): OutgoingBatch {
  return {
    address,
    partitions: 1,
    signal: new AbortController().signal,
    messages: messages.map(({ id = randomUUID(), key = null, payload = '{}', headers }) => ({
      id,
      key,
      payload,
      headers: { ce_id: id, ...headers },
    })),
  };
}

/** Publishes these messages, again if the server refuses: a new topic may be unknown to it for some moments. */
export async function stored(
  transport: Transport,
  address: string,
  ...messages: readonly Partial<OutgoingMessage>[]
): Promise<void> {
  let left = messages;
  await until(async () => {
    const { outcomes } = await transport.publish(batchOf(address, ...left));
    left = left.filter((_, n) => outcomes[n]?.kind !== 'acknowledged');
    return left.length === 0;
  });
}

/** A member of a group, and what arrived there. */
export interface ReceivingMember extends Subscribed {
  readonly arrived: readonly IncomingMessage[];
}

/** The ids of messages, each once. */
export function idsOf(messages: readonly IncomingMessage[]): readonly string[] {
  return [...new Set(messages.map((message) => message.header('ce_id') ?? ''))];
}

/** Joins a group, and acknowledges what arrives unless `handle` does something else. It ends with the test. */
export async function receiving(
  source: Source,
  { handle, ...options }: Partial<Subscription> & Pick<Subscription, 'addresses'>,
): Promise<ReceivingMember> {
  const arrived: IncomingMessage[] = [];
  const subscribed = await source.subscribe({
    group: 'nobody',
    concurrency: 4,
    fromBeginning: true,
    joinWithinMs: 30_000,
    batchSize: 32,
    assigned: () => undefined,
    disconnected: () => undefined,
    ...options,
    async handle(batch) {
      arrived.push(...batch.messages);
      if (handle !== undefined) return handle(batch);
      for (const message of batch.messages) batch.acknowledge(message);
    },
  });
  onTestFinished(() => subscribed.stop());
  return { ...subscribed, arrived };
}
