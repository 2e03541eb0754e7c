import type { Claim } from '../store/lane/claim.ts';
import type { ClaimedMessage } from '../store/lane/claimed-messages.ts';
import type { Outcome } from './publish-batch.ts';

/** Milliseconds by the clock of the database, of some of the messages that a batch has published. */
export interface BatchDelays {
  /** From storing a message to its acknowledgement, on the first try of a message that could go at once. */
  readonly delaysMs: readonly number[];
  /** From its due time to its acknowledgement, on the first try of a message that had to wait. */
  readonly latenessMs: readonly number[];
}

/** The same, and how long the transport took. */
export type BatchTimes = BatchDelays & { readonly publishMs: number };

/** Most messages of a batch that are measured: each costs its reader a tenth of what it costs to send. */
export const measuredOfBatch = 16;

/**
 * How long the messages of a batch have taken: of all if they are few, else of some that are evenly spread over the batch.
 *
 * The claim has the database's time, and what has passed since is counted by this process, so a wrong clock of this host
 * does not matter.
 *
 * @param sinceClaimMs from the claim's answer to the broker's
 */
export function measureBatch(
  { at, messages }: Pick<Claim, 'at' | 'messages'>,
  outcomes: readonly (Outcome | undefined)[],
  sinceClaimMs: number,
): BatchDelays {
  const delaysMs: number[] = [];
  const latenessMs: number[] = [];
  if (at === null) return { delaysMs, latenessMs };
  const now = at + sinceClaimMs;
  const measure = ({ attempts, createdAt, dueAtMs, resent }: ClaimedMessage, byMs: number): void => {
    // How long retries and receipts take is up to their topic.
    if (attempts > 0 || resent) return;
    if (dueAtMs === null) delaysMs.push(Math.max(0, byMs - new Date(createdAt).getTime()));
    else latenessMs.push(Math.max(0, byMs - dueAtMs));
  };
  const step = Math.max(1, messages.length / measuredOfBatch);
  for (let place = 0; place < messages.length; place += step) {
    const index = Math.floor(place);
    const message = messages[index];
    if (message !== undefined && outcomes[index]?.kind === 'acknowledged') measure(message, now);
  }
  return { delaysMs, latenessMs };
}
