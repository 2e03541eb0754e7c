import type { UncopiedMessage } from '../../store/inbox/dead-letters.ts';
import { readWire } from '../../store/inbox/wire.ts';

/** A copy of a failed message. */
export interface DeadLetter {
  readonly address: string;
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
}

/**
 * The outcome of sending a letter.
 *
 * - `taken`: the broker stored it.
 * - `refused`: it was not taken, or that is unknown; others may be.
 * - `blocked`: not sent, because an earlier one of its key was not taken.
 * - `away`: nothing is taken at this address for now.
 */
export type LetterOutcome =
  | { readonly kind: 'taken' | 'blocked' }
  | { readonly kind: 'refused' | 'deferred'; readonly reason: string };

/** Sends copies of failed messages. */
export interface DeadLetterSender {
  /**
   * Sends letters of one address.
   *
   * @returns the outcome of each, in order; a letter that was not `taken` may be sent again
   */
  send(letters: readonly DeadLetter[]): Promise<readonly LetterOutcome[]>;
  /** Ends connections. */
  close(): Promise<void>;
}

/** The message as it arrived, with its origin and the reason of its failure in additional headers. */
export function letterOf(group: string, message: UncopiedMessage, address: string): DeadLetter {
  const { key, headers } = readWire(message.wire);
  return {
    address,
    key,
    headers: {
      ...headers,
      'outbox-dead-id': message.id,
      'outbox-dead-group': group,
      'outbox-dead-from': `${message.address}/${message.partition}/${message.offset}`,
      'outbox-dead-reason': message.reason,
      'outbox-dead-attempts': String(message.attempts),
      ...(message.error !== null && { 'outbox-dead-error': message.error }),
    },
    body: message.body === null ? null : Buffer.from(message.body, 'base64'),
  };
}
