import type { ConsumerEvent } from './consumer-event.ts';
import type { Outcome } from './intake/applier.ts';
import type { Arrived } from './intake/arrived.ts';

/** Which figure a message with this outcome is part of. */
export function counterOf(outcome: Outcome): 'processed' | 'duplicates' | 'parked' | 'failed' {
  if (outcome === 'handled') return 'processed';
  if (outcome === 'queued') return 'parked';
  return outcome === 'refused' ? 'failed' : 'duplicates';
}

/** What is told of it. */
export function eventOf<Tx>(
  { id, topic, incoming: { address, partition, offset } }: Arrived<Tx>,
  outcome: Outcome,
  attempt: number,
  error: unknown,
): ConsumerEvent {
  if (outcome === 'handled') return { type: 'handled', id, topic, address, partition, offset, attempt };
  if (outcome === 'queued') return { type: 'parked', id, topic, address, partition, offset, error };
  if (outcome === 'refused') return { type: 'refused', id, topic, address, partition, offset };
  return { type: 'duplicate', id, topic, address, partition, offset };
}
