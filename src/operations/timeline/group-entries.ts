import type { KeptRow } from '../../store/inbox/show.ts';
import type { GroupTrace } from '../../store/inbox/traces.ts';
import { length } from '../messages/why.ts';
import type { TimelineEntry } from './entry.ts';
import { operatorEntries } from './message-entries.ts';

/** What a consumer group says about a message. */
export type GroupSide =
  /** `elsewhere`: address of its database, if that is not the outbox's; without a user and password. */
  | { readonly kind: 'answered'; readonly trace: GroupTrace; readonly elsewhere: string | null }
  | { readonly kind: 'away'; readonly group: string; readonly reason: string };

/** True if its database has anything about the message. */
export function hasTrace({ audit, kept, processed }: GroupTrace): boolean {
  return kept !== null || processed !== null || audit.length > 0;
}

/** What a group did with a message. @param sent false: it cannot have arrived yet, so nothing is missing */
export function groupEntries(side: GroupSide, sent: boolean): readonly TimelineEntry[] {
  if (side.kind === 'away') {
    const detail = `Not known: ${side.reason}`;
    return [{ at: null, what: 'gap', where: `group ${side.group}`, detail }];
  }
  const { trace } = side;
  const where = `group ${trace.group}`;
  if (!hasTrace(trace)) return sent ? [{ at: null, what: 'gap', where, detail: unnoted(trace) }] : [];
  const operators = operatorEntries(where, trace.audit);
  return trace.kept === null
    ? handled(where, trace, operators)
    : // An operator's discard comes before the end that it caused, at the same time.
      [...operators, ...keptEntries(where, trace.kept)];
}

function unnoted({ known, windowMs }: GroupTrace): string {
  if (!known) return 'Its database knows no group of this name.';
  const window =
    windowMs === null
      ? ''
      : `, or it is older than the window of ${length(windowMs)}, after which ids are dropped`;
  return `It has no trace of the message: it has not arrived, was dropped as expired, is of no topic of the group${window}.`;
}

/** Parking stores the id as well, so that its time is that of the effect only for a message that was never kept. */
function handled(
  where: string,
  { processed, windowMs }: GroupTrace,
  operators: readonly TimelineEntry[],
): readonly TimelineEntry[] {
  if (processed === null) return [...operators, { at: null, what: 'gap', where, detail: dropped(windowMs) }];
  const { at, effect, endedAt, epoch } = processed;
  const stored = `its id is in epoch ${epoch}`;
  const ending = ended(where, effect);
  if (endedAt === null && effect !== 'none')
    return [{ ...ending, at, detail: `${ending.detail}; ${stored}` }, ...operators];
  return [{ at, what: 'parked', where, detail: stored }, ...operators, { ...ending, at: endedAt }];
}

function ended(
  where: string,
  effect: NonNullable<GroupTrace['processed']>['effect'],
): Omit<TimelineEntry, 'at'> {
  switch (effect) {
    case 'committed':
      return { what: 'handled', where, detail: 'effect committed' };
    case 'expired':
      return { what: 'ended', where, detail: 'expired: its handler was not called' };
    case 'none':
      return {
        what: 'ended',
        where,
        detail: 'removed without an effect, after it was kept; when is not recorded',
      };
  }
}

function dropped(windowMs: number | null): string {
  return windowMs === null
    ? 'What became of it is not known: its id is gone.'
    : `What became of it is not known: ids older than the window of ${length(windowMs)} are dropped.`;
}

function keptEntries(where: string, kept: KeptRow): readonly TimelineEntry[] {
  const { address, arrivedAt, attempts, lastError, offset, partition, reason, state, updatedAt } = kept;
  const changed = updatedAt.getTime() > arrivedAt.getTime();
  const inHand = kept.parkedKey?.inHand === true;
  const cause = lastError ?? reason ?? 'behind an earlier message of its key';
  const entries: TimelineEntry[] = [
    {
      at: arrivedAt,
      what: 'parked',
      where,
      detail: `arrived at ${address}, partition ${partition}, offset ${offset}${changed ? '' : `: ${cause}`}`,
    },
  ];
  if (attempts > 1)
    entries.push({ at: null, what: 'gap', where, detail: `Of ${attempts} tries only the last is recorded.` });
  if (state === 'parked' && changed && attempts > 0 && !inHand)
    entries.push({ at: updatedAt, what: 'attempt', where, detail: `try ${attempts} failed: ${cause}` });
  if (state === 'failed') entries.push({ at: updatedAt, what: 'failed', where, detail: cause });
  if (state === 'superseded')
    entries.push({
      at: updatedAt,
      what: 'ended',
      where,
      detail: `superseded by ${kept.supersededBy ?? 'a copy'}`,
    });
  if (state === 'discarded') entries.push({ at: updatedAt, what: 'ended', where, detail: 'discarded' });
  const next = kept.parkedKey?.nextAt ?? null;
  if (next !== null && state === 'parked')
    entries.push({ at: next, what: 'due', where, detail: 'next try of the first message of its key' });
  return entries;
}
