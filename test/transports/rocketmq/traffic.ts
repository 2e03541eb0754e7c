import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import type { IncomingMessage, Source, Subscribed, Subscription } from '../../../src/sources/source.ts';
import type { OutgoingBatch, OutgoingMessage } from '../../../src/transports.ts';

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
