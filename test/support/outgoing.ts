import { randomUUID } from 'node:crypto';
import type {
  OutgoingBatch,
  OutgoingMessage,
  PublishResult,
  Transport,
} from '../../src/transports/transport.ts';

/** A message of `bytes` bytes. */
export function outgoing(key: string | null, bytes = 20): OutgoingMessage {
  const id = randomUUID();
  return { headers: { ce_id: id, ce_specversion: '1.0' }, id, key, payload: 'p'.repeat(bytes) };
}

/** Publishes to an address as the relay does. */
export function publishTo(
  transport: Transport,
  address: string,
  messages: readonly OutgoingMessage[],
  options: Partial<Pick<OutgoingBatch, 'partitions' | 'signal'>> = {},
): Promise<PublishResult> {
  const { partitions = 1, signal = new AbortController().signal } = options;
  return transport.publish({ address, messages, partitions, signal });
}

/** How often each kind of outcome occurs. */
export function countKinds({ outcomes }: PublishResult): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { kind } of outcomes) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}
