import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { Subscription } from '../../src/brokers/source.ts';
import type { OutgoingMessage, ReceivingTransport, Transport } from '../../src/transports.ts';

/** As the relay sends it: 250 bytes and six headers. @param keyOf of its id; by default each message has its own key */
export function aMessage(keyOf = (id: string): string => `order-${id}`): OutgoingMessage {
  const id = randomUUID();
  return {
    id,
    key: keyOf(id),
    payload: JSON.stringify({ id, text: 'x'.repeat(200) }),
    headers: {
      ce_id: id,
      ce_source: 'outbox/0f3d2b1c-77aa-4b0e-9d7b-6a2f1f0a9c55',
      ce_specversion: '1.0',
      ce_time: '2026-11-24T10:00:00.000Z',
      ce_type: 'orders',
      'content-type': 'application/json',
    },
  };
}

/** Messages per second of the work. */
export async function rateOf(messages: number, work: () => Promise<void>): Promise<number> {
  const startedAtMs = performance.now();
  await work();
  return Math.round(messages / ((performance.now() - startedAtMs) / 1_000));
}

/** Publishes the batches one after the other. @throws Error if a message is not acknowledged */
export async function send(
  transport: Transport,
  address: string,
  batches: readonly (readonly OutgoingMessage[])[],
): Promise<void> {
  const { signal } = new AbortController();
  for (const messages of batches) {
    const { outcomes } = await transport.publish({ address, partitions: 1, messages, signal });
    const other = outcomes.find(({ kind }) => kind !== 'acknowledged');
    if (other !== undefined) throw new Error(JSON.stringify(other));
  }
}

/** Receives and acknowledges this many messages, reading one header and the body of each. @throws when disconnected */
export async function receive(
  transport: ReceivingTransport,
  subscription: Pick<Subscription, 'addresses' | 'group' | 'concurrency' | 'batchSize'>,
  messages: number,
): Promise<void> {
  let done = 0;
  const all = new AbortController();
  const subscribed = await transport.source().subscribe({
    ...subscription,
    fromBeginning: true,
    joinWithinMs: 10_000,
    assigned: () => undefined,
    disconnected: (error) => all.abort(error),
    async handle(batch) {
      for (const message of batch.messages) {
        if (message.header('ce_id') === undefined || message.body === null) throw new Error('It is empty.');
        batch.acknowledge(message);
      }
      done += batch.messages.length;
      if (done >= messages) all.abort();
    },
  });
  if (!all.signal.aborted) await once(all.signal, 'abort');
  await subscribed.stop();
  if (done < messages) throw all.signal.reason;
}
