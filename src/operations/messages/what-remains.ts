/**
 * What is left to do with a message that a change was refused for, because its state does not allow it.
 *
 * @param action the change: `cancel`, `discard`, `edit`, `expunge`, `reschedule`, `retry` or `withdraw`
 * @param state that of the message; `null`: it is not known
 * @returns a clause without a full stop
 */
export function whatRemains(action: string, state: string | null): string {
  if (action === 'cancel' || action === 'withdraw') {
    if (state === 'ready' && action === 'cancel')
      return 'a relay is about to publish it; withdraw cancels it if it was certainly not published';
    if (state === 'waiting' || state === 'ready' || state === 'blocked' || state === 'retrying')
      return 'a try may have published it, so it cannot be canceled';
    if (state === 'published' || state === 'confirmed') return 'the broker has it';
  }
  const known = action === 'expunge' ? { ...remaining, ...unfinished } : remaining;
  return (state === null ? undefined : known[state]) ?? 'show says why it is so';
}

/** How a message ends that cannot be expunged yet. */
const unfinished: Readonly<Record<string, string>> = {
  waiting: 'cancel it first',
  blocked: 'cancel it first',
  retrying: 'cancel it first',
  ready: 'withdraw it first, or wait until it is published',
  published: 'wait for its receipt',
  failed: 'discard it first',
  parked: 'discard it first',
};

const ended = 'it has ended';

/** By the state of a message of the outbox, or of one that a group keeps. */
const remaining: Readonly<Record<string, string>> = {
  waiting: 'reschedule moves its due time, to now if after is 0; cancel ends it',
  ready: 'a relay is about to publish it; withdraw cancels it if it was certainly not published',
  blocked: 'an earlier message of its key goes first, see show; cancel ends it',
  retrying: 'retry delivers it now; cancel ends it if it was certainly not published',
  failed: 'retry, edit or discard it',
  parked: 'retry or discard it; the first of its key can be edited',
  published: 'replay sends it again, with a new id',
  confirmed: 'replay sends it again, with a new id',
  superseded: 'an edit has replaced it by a copy, see show',
  canceled: ended,
  discarded: ended,
  expired: ended,
  handled: 'its effects are committed, and the group no longer keeps it',
};
