import type { ConsumerEvent } from './consumer-event.ts';
import { type Arrived, keyedOf, positionOf } from './handling/arrived.ts';

/** How a message that arrived has ended. */
export type Applied =
  /** Its effects are committed. */
  | { readonly kind: 'handled' }
  /** Its effects were already committed. */
  | { readonly kind: 'duplicate' }
  /** Its expiry had passed: its id is stored, and its handler was not called. */
  | { readonly kind: 'expired' }
  /** It was already kept. */
  | { readonly kind: 'kept' }
  /** It is kept for a later try: after its own tries failed, or behind earlier messages of its key. */
  | { readonly kind: 'parked'; readonly error?: unknown }
  /** Retrying cannot help, or no try is left: it is kept for a person. */
  | { readonly kind: 'failed'; readonly reason: string; readonly error: unknown };

/** The count that it belongs to. */
export function counterOf({ kind }: Applied): 'handled' | 'duplicates' | 'expired' | 'parked' | 'failed' {
  return kind === 'duplicate' || kind === 'kept' ? 'duplicates' : kind;
}

/** The event that reports it. */
export function eventOf<Tx>(arrived: Arrived<Tx>, applied: Applied, attempt: number): ConsumerEvent {
  const { id, topic } = arrived;
  const message = { id, topic, ...positionOf(arrived) };
  switch (applied.kind) {
    case 'handled':
      return { type: 'handled', ...message, attempt };
    case 'expired':
      return { type: 'expired', ...message };
    case 'parked':
      return { type: 'parked', ...keyedOf(arrived), error: applied.error };
    case 'failed':
      return { type: 'failed', ...keyedOf(arrived), reason: applied.reason, error: applied.error };
    case 'duplicate':
    case 'kept':
      return { type: 'duplicate', ...message };
  }
}
