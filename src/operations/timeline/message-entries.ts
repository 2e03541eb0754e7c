import type { ShownAttempt, ShownAudit, ShownMessage } from '../../store/message/show.ts';
import type { ShownDelivery } from '../../store/message/show-delivery.ts';
import type { TimelineEntry } from './entry.ts';

/** What the outbox's own database has of a message. */
export interface MessageFacts {
  readonly message: ShownMessage;
  readonly workflowUrl: string | null;
  readonly delivery: ShownDelivery | null;
  readonly attempts: readonly ShownAttempt[];
  readonly audit: readonly ShownAudit[];
}

const where = 'outbox';

/** What the outbox's database says, each thing once. @param record what the log of the broker says */
export function messageEntries(facts: MessageFacts, record?: TimelineEntry): readonly TimelineEntry[] {
  const { attempts, audit, message, workflowUrl } = facts;
  const { id, topic, lane, position, supersedes, workflowId } = message;
  const copy = supersedes === null ? '' : `, in place of ${supersedes}`;
  return [
    {
      at: message.createdAt,
      what: 'stored',
      where,
      detail: `${topic}, lane ${lane}, position ${position}${copy}`,
    },
    {
      at: null,
      what: 'workflow',
      where: 'Temporal',
      detail: workflowUrl === null ? workflowId : `${workflowId}, with its runs at ${workflowUrl}`,
    },
    ...due(message),
    ...attempts.filter(({ outcome }) => outcome !== 'acknowledged').map(attempt),
    ...published(facts),
    ...(record === undefined ? [] : [record]),
    ...ended(message, audit),
    ...operatorEntries(where, audit),
    ...(attempts.length >= entryLimit
      ? [{ at: null, what: 'gap', where, detail: `Only the last ${entryLimit} attempts are read.` } as const]
      : []),
    ...(message.archivedAt === null
      ? []
      : [{ at: message.archivedAt, what: 'archived', where, detail: `as ${id}` } as const]),
  ];
}

/** As many as are read. */
const entryLimit = 200;

function due({ attempts, dueAt, expiresAt, state }: ShownMessage): readonly TimelineEntry[] {
  const entries: TimelineEntry[] = [];
  if (dueAt !== null)
    entries.push({
      at: dueAt,
      what: 'due',
      where,
      detail: attempts > 0 ? 'again, after a failed try' : 'for the first time',
    });
  if (dueAt !== null && attempts > 0)
    entries.push({
      at: null,
      what: 'gap',
      where,
      detail: 'When it was due before that is not recorded: a retry replaces its due time.',
    });
  if (expiresAt !== null && state !== 'expired')
    entries.push({ at: expiresAt, what: 'due', where, detail: 'expires, if it is not published by then' });
  return entries;
}

function attempt({ at, error, outcome }: ShownAttempt): TimelineEntry {
  return { at, what: 'attempt', where, detail: `${outcome}: ${error ?? 'without a reason'}` };
}

/** Each acknowledged attempt; without one, what the row or its batch says. */
function published({ attempts, delivery, message }: MessageFacts): readonly TimelineEntry[] {
  const sent = attempts.filter(({ outcome }) => outcome === 'acknowledged');
  if (sent.length > 0)
    return sent.map(({ at, offset, partition }) => publication(at, spot(partition, offset)));
  if (message.publishedAt !== null)
    return [publication(message.publishedAt, spot(message.partition, message.offset))];
  if (delivery !== null) return [publication(delivery.publishedAt, inBatch(delivery))];
  if (message.state !== 'published' && message.state !== 'confirmed') return [];
  return [
    {
      at: null,
      what: 'gap',
      where: 'broker',
      detail: 'When it was published is not recorded: its batch is dropped, or overlaps others.',
    },
  ];
}

const publication = (at: Date, detail: string): TimelineEntry => ({
  at,
  what: 'published',
  where: 'broker',
  detail,
});

function spot(partition: number | null, offset: string | null): string {
  if (partition === null) return 'partition and offset are not recorded';
  return `partition ${partition}, ${offset === null ? 'its offset is not recorded' : `offset ${offset}`}`;
}

function inBatch({ exact, partitions }: ShownDelivery): string {
  if (exact !== null) return spot(exact.partition, exact.offset);
  const ranges = Object.entries(partitions).map(
    ([partition, { count, first }]) => `partition ${partition} from offset ${first} (${count} messages)`,
  );
  return ranges.length === 0
    ? spot(null, null)
    : `in a batch in ${ranges.join(', ')}; its own offset is not recorded`;
}

/** Skips changes that the audit already lists. */
function ended(message: ShownMessage, audit: readonly ShownAudit[]): readonly TimelineEntry[] {
  const { lastError, state, supersededBy, updatedAt: at } = message;
  switch (state) {
    case 'confirmed':
      return [{ at, what: 'confirmed', where, detail: 'its receipt has come' }];
    case 'failed':
      return [{ at, what: 'failed', where, detail: lastError ?? 'without a reason' }];
    case 'canceled':
    case 'discarded':
    case 'expired':
      return audit.some(({ result }) => result === state)
        ? []
        : [{ at, what: 'ended', where, detail: state }];
    case 'superseded':
      return [{ at, what: 'ended', where, detail: `superseded by ${supersededBy ?? 'a copy'}` }];
    case 'blocked':
    case 'published':
    case 'ready':
    case 'retrying':
    case 'waiting':
      return [];
  }
}

/** What operators did, or were refused, according to the audit of this place. */
export function operatorEntries(place: string, audit: readonly ShownAudit[]): readonly TimelineEntry[] {
  return audit.toReversed().map(({ action, actor, at, reason, result }) => ({
    at,
    what: 'operator',
    where: place,
    detail: `${actor}: ${action}, ${result}${reason === null ? '' : ` (${reason})`}`,
  }));
}
