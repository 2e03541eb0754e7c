/** One row of the outbox, as the judge needs it. */
export interface CommittedMessage {
  readonly id: string;
  readonly topic: string;
  /** Its place in the order of its key. */
  readonly position: bigint;
  readonly state: string;
  readonly dueAt: Date | null;
}

/** One record of Kafka. */
export interface AuditRecord {
  /** The id of the message that it says it is. */
  readonly id: string;
  readonly topic: string;
  readonly key: string | null;
  readonly partition: number;
  readonly offset: bigint;
  /** When the broker appended it. */
  readonly at: Date;
}

/** How Kafka's log differs from what was committed. */
export interface LogVerdict {
  /** How many messages are in the log, each counted once. */
  readonly published: number;
  /** Records beyond the first of their message. Allowed: the inbox drops them. */
  readonly duplicates: readonly AuditRecord[];
  /** Committed and not canceled, but not in the log. */
  readonly lost: readonly CommittedMessage[];
  /** In the log, but never committed, or committed as canceled. */
  readonly ghosts: readonly AuditRecord[];
  /** In the log before they were due. */
  readonly early: readonly AuditRecord[];
  /** First of their message, but behind a later message of their key. */
  readonly outOfOrder: readonly AuditRecord[];
}

/**
 * Compares Kafka's log with the committed messages.
 *
 * Times are compared in whole milliseconds, which is what Kafka keeps; both are clocks of one machine.
 */
export function judgeLog(
  committed: readonly CommittedMessage[],
  records: readonly AuditRecord[],
): LogVerdict {
  const messages = new Map(committed.map((message) => [message.id, message]));
  const inOrder = records.toSorted(byPlace);
  const seen = new Set<string>();
  const firsts: AuditRecord[] = [];
  const duplicates: AuditRecord[] = [];
  for (const record of inOrder) {
    if (seen.has(record.id)) duplicates.push(record);
    else firsts.push(record);
    seen.add(record.id);
  }
  const isDue = ({ id, at }: AuditRecord): boolean =>
    at.getTime() >= (messages.get(id)?.dueAt?.getTime() ?? 0);
  const isPlanned = ({ id, topic }: AuditRecord): boolean => {
    const message = messages.get(id);
    return message !== undefined && message.topic === topic && message.state !== 'canceled';
  };
  return {
    published: firsts.length,
    duplicates,
    lost: committed.filter(({ id, state }) => state !== 'canceled' && !seen.has(id)),
    ghosts: inOrder.filter((record) => !isPlanned(record)),
    early: inOrder.filter((record) => !isDue(record)),
    outOfOrder: outOfOrder(firsts, messages),
  };
}

/** Per key, positions must rise from record to record, and a key must stay in its partition. */
function outOfOrder(
  firsts: readonly AuditRecord[],
  messages: ReadonlyMap<string, CommittedMessage>,
): readonly AuditRecord[] {
  const lastOfKey = new Map<string, { readonly partition: number; readonly position: bigint }>();
  return firsts.filter(({ id, topic, key, partition }) => {
    const position = messages.get(id)?.position;
    if (key === null || position === undefined) return false;
    const name = JSON.stringify([topic, key]);
    const last = lastOfKey.get(name);
    const behind = last !== undefined && (last.position > position || last.partition !== partition);
    if (!behind) lastOfKey.set(name, { partition, position });
    return behind;
  });
}

function byPlace(a: AuditRecord, b: AuditRecord): number {
  if (a.topic !== b.topic) return a.topic < b.topic ? -1 : 1;
  if (a.partition !== b.partition) return a.partition - b.partition;
  return Number(a.offset - b.offset);
}
