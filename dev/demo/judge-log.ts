/** One row of the outbox, reduced to the fields needed here. */
export interface CommittedMessage {
  readonly id: string;
  readonly topic: string;
  /** Its position among the messages of its key. */
  readonly position: bigint;
  readonly state: string;
  readonly dueAt: Date | null;
}

/** One record of Kafka. */
export interface AuditRecord {
  /** The message id in its headers. */
  readonly id: string;
  readonly topic: string;
  readonly key: string | null;
  readonly partition: number;
  readonly offset: bigint;
  /** The time at which the broker appended it. */
  readonly at: Date;
}

/** The differences between Kafka's log and the committed messages. */
export interface LogVerdict {
  /** How many messages are in the log, each counted once. */
  readonly published: number;
  /** Duplicate records. Allowed: the inbox drops them. */
  readonly duplicates: readonly AuditRecord[];
  /** Committed and not canceled, but not in the log. */
  readonly lost: readonly CommittedMessage[];
  /** In the log, but never committed, or committed as canceled. */
  readonly ghosts: readonly AuditRecord[];
  /** In the log before they were due. */
  readonly early: readonly AuditRecord[];
  /** First record of its message, but after a later message of its key. */
  readonly outOfOrder: readonly AuditRecord[];
}

/**
 * Compares Kafka's log with the committed messages.
 *
 * Times are compared in whole milliseconds, the resolution of Kafka; both come from the clock of one machine.
 */
export function judgeLog(
  committed: readonly CommittedMessage[],
  records: readonly AuditRecord[],
): LogVerdict {
  const messages = new Map(committed.map((message) => [message.id, message]));
  const inOrder = records.toSorted(byPosition);
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

/** Per key, positions must increase from record to record, and all records must be in one partition. */
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

function byPosition(a: AuditRecord, b: AuditRecord): number {
  if (a.topic !== b.topic) return a.topic < b.topic ? -1 : 1;
  if (a.partition !== b.partition) return a.partition - b.partition;
  return Number(a.offset - b.offset);
}
