import type { ConsumerEvent } from './consumer-event.ts';
import type { Arrived } from './intake/arrived.ts';

/** What became of a message that arrived. */
export type Applied =
  /** Its effects are committed. */
  | { readonly kind: 'handled' }
  /** They were before. */
  | { readonly kind: 'duplicate' }
  /** It was kept before. */
  | { readonly kind: 'kept' }
  /** It is kept for a later try: after its own failed ones, or behind others of its key. */
  | { readonly kind: 'parked'; readonly error?: unknown }
  /** No try can help, or none is left: it is kept for a person. */
  | { readonly kind: 'failed'; readonly reason: string; readonly error: unknown };

/** Which figure it is part of. */
export function counterOf({ kind }: Applied): 'handled' | 'duplicates' | 'parked' | 'failed' {
  return kind === 'duplicate' || kind === 'kept' ? 'duplicates' : kind;
}

/** What is told of it. */
export function eventOf<Tx>(
  { id, topic, incoming: { address, partition, offset } }: Arrived<Tx>,
  applied: Applied,
  attempt: number,
): ConsumerEvent {
  const message = { id, topic, address, partition, offset };
  switch (applied.kind) {
    case 'handled':
      return { type: 'handled', ...message, attempt };
    case 'parked':
      return { type: 'parked', ...message, error: applied.error };
    case 'failed':
      return { type: 'failed', ...message, reason: applied.reason, error: applied.error };
    case 'duplicate':
    case 'kept':
      return { type: 'duplicate', ...message };
  }
}
