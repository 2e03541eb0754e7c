import type { KeptKey, KeptRow } from '../../store/inbox/show.ts';
import { length } from '../messages/why.ts';

/** Why a consumer keeps a message, and what to do about it. */
export interface KeptWhy {
  /** For programs. */
  readonly code:
    | 'behind-key'
    | 'discarded'
    | 'failed'
    | 'blocks-key'
    | 'in-hand'
    | 'key-blocked'
    | 'next-try'
    | 'overdue'
    | 'superseded';
  /** For people, one sentence or two. */
  readonly text: string;
}

type KeptFacts = Pick<
  KeptRow,
  'id' | 'key' | 'state' | 'reason' | 'lastError' | 'attempts' | 'supersededBy' | 'parkedKey'
> & {
  /** It is dropped when it is tried. */
  readonly expired?: boolean;
};

/** Explains why a message is kept. The first obstacle wins. */
export function explainKept(facts: KeptFacts): KeptWhy {
  const { parkedKey, state, supersededBy } = facts;
  switch (state) {
    case 'discarded':
      return { code: 'discarded', text: 'An operator discarded it; it will not be handled.' };
    case 'superseded':
      return { code: 'superseded', text: `It was edited and replaced by ${supersededBy ?? 'a copy'}.` };
    case 'failed':
      return failed(facts);
    case 'parked':
      return parkedKey === null
        ? { code: 'overdue', text: 'Its key is gone. Retry it.' }
        : parked(facts, parkedKey);
  }
}

const expiredNext = 'It has expired: discard it, or edit it to have it handled all the same.';

function failed(facts: KeptFacts): KeptWhy {
  const text = `It failed${because(facts)}.`;
  const next = facts.expired === true ? expiredNext : 'Retry, edit or discard it.';
  if (facts.parkedKey !== null) return { code: 'blocks-key', text: `${text} Its key waits for it. ${next}` };
  const others = facts.key === null ? '' : ' Later messages of its key went on.';
  return { code: 'failed', text: `${text}${others} ${next}` };
}

function parked(
  facts: KeptFacts,
  { before, first, inHand, nextAt, nextInMs, workflowStarted }: KeptKey,
): KeptWhy {
  const { id, key } = facts;
  if (nextInMs === null)
    return {
      code: 'key-blocked',
      text: `Message ${first?.id ?? ''} of the key "${key}" failed, and the key waits for it. Retry, edit or discard that one.`,
    };
  if (before > 0 || (first !== null && first.id !== id))
    return {
      code: 'behind-key',
      text: `${before === 1 ? '1 message' : `${before} messages`} of the key "${key}" ${before === 1 ? 'goes' : 'go'} first, beginning with ${first?.id ?? ''}.`,
    };
  if (inHand) return { code: 'in-hand', text: inProgress(nextInMs) };
  const last = facts.attempts === 0 ? '' : `Its last try failed${because(facts)}. `;
  if (nextInMs > 0)
    return {
      code: 'next-try',
      text: `${last}It is tried in ${length(nextInMs)}, at ${nextAt?.toISOString() ?? ''}; a retry makes that now.`,
    };
  const started = workflowStarted ? '' : ', and its workflow was not started';
  return {
    code: 'overdue',
    text: `${last}It has been due for ${length(-nextInMs)}${started}. Is a consumer of the group running?`,
  };
}

/** A try may take longer than the delay after it; that of a dead process ends when a consumer of the group looks. */
function inProgress(nextInMs: number): string {
  if (nextInMs >= 0) return 'It is being tried at the moment.';
  return `A try of it has begun and not ended, and the next has been due for ${length(-nextInMs)}. Is its handler slow, or is no consumer of the group running?`;
}

function because({ lastError, reason }: KeptFacts): string {
  if (lastError !== null) return `: ${lastError.replace(/\.$/, '')}`;
  return reason === 'killed' ? ': it killed its consumer repeatedly' : '';
}
