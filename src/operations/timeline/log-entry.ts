import { causeIn } from '../../core/cause.ts';
import type { LogExcerpt, LogReader, LogRecord, LogStretch } from '../../core/delivery-log.ts';
import { late, orLate } from '../../core/or-late.ts';
import { reasonOf } from '../../core/reason.ts';
import type { LoggedTopic } from '../../store/verify/log.ts';
import type { TimelineEntry } from './entry.ts';
import type { MessageFacts } from './message-entries.ts';

/** The log of one broker that can be read, and its topics. */
export interface ReadLog {
  readonly reader: LogReader;
  readonly topics: readonly LoggedTopic[];
}

/** A log that takes longer is shown as a gap. */
const withinMs = 10_000;
/** Most records that are read for one message, because only its batch is certain. */
const mostRecords = 10_000;

const where = 'broker';
const gap = (detail: string): TimelineEntry => ({ at: null, what: 'gap', where, detail });
const found = (detail: string): TimelineEntry => ({ at: null, what: 'record', where, detail });

/**
 * Whether the broker still has the record of a message, from its log. `undefined`: it is not published. Never rejects because of
 * a broker, and waits ten seconds for it at most.
 */
export async function lookIntoLog(
  logs: readonly ReadLog[],
  facts: MessageFacts,
): Promise<TimelineEntry | undefined> {
  const { id, state, topic } = facts.message;
  if (state !== 'published' && state !== 'confirmed') return undefined;
  const log = logs.find(({ topics }) => topics.some((one) => one.topic === topic));
  const address = log?.topics.find((one) => one.topic === topic)?.address;
  if (log?.reader.excerpt === undefined || address === undefined)
    return gap(`The log of the topic "${topic}" cannot be read from here.`);
  const stretches = stretchesOf(facts);
  if (stretches.length === 0) return gap('Where in the log its record is, is not recorded.');
  if (stretches.reduce((sum, { count }) => sum + count, 0) > mostRecords)
    return gap(`Its record is one of more than ${mostRecords}, which are not read.`);
  const asked = log.reader.excerpt(address, stretches);
  try {
    const excerpt = await orLate(asked, withinMs);
    if (excerpt !== late) return judgeExcerpt(id, stretches, excerpt);
    asked.catch(() => undefined);
    return gap(`Its log does not answer within ${withinMs / 1_000} s.`);
  } catch (error) {
    return gap(`Its log cannot be read: ${causeIn(reasonOf(error))}`);
  }
}

/** Where its record was written, as far as that is known. */
function stretchesOf({ attempts, delivery, message }: MessageFacts): readonly LogStretch[] {
  const tried = attempts.find(({ outcome }) => outcome === 'acknowledged');
  for (const { partition, offset } of [tried ?? message, message, delivery?.exact ?? message])
    if (partition !== null && offset !== null) return [{ partition, from: offset, count: 1 }];
  return Object.entries(delivery?.partitions ?? {}).map(([partition, { count, first }]) => ({
    partition: Number(partition),
    from: first,
    count,
  }));
}

/** What the log says about the record that was written in one of these stretches. */
function judgeExcerpt(
  id: string,
  stretches: readonly LogStretch[],
  { ranges, records }: LogExcerpt,
): TimelineEntry {
  const mine = records.find((record) => record.id === id);
  if (mine !== undefined)
    return found(`its record is in the log, at partition ${mine.partition}, offset ${mine.offset}`);
  const reasons = stretches.map((stretch) => missing(stretch, ranges, records));
  const [first, ...others] = reasons;
  if (first !== undefined && others.length === 0) return found(first.detail);
  return reasons.length > 0 && reasons.every(({ kind }) => kind === 'deleted')
    ? found('its record is deleted: the partitions of its batch begin later now')
    : gap('Its record is not where its batch was written: deleted, or the topic is another one.');
}

/** Why a record is not where it was written. */
interface Missing {
  readonly kind: 'deleted' | 'another-log';
  readonly detail: string;
}

function missing(
  { count, from, partition }: LogStretch,
  ranges: LogExcerpt['ranges'],
  records: readonly LogRecord[],
): Missing {
  const whole = ranges.find((range) => range.partition === partition);
  if (whole === undefined)
    return another(`the log has no partition ${partition} any more: the topic was created again`);
  const at = `partition ${partition}, offset ${from}`;
  if (BigInt(from) >= BigInt(whole.to))
    return another(
      `the log ends before its record, ${at}: the topic was created again, or restored from an older state`,
    );
  if (BigInt(from) + BigInt(count) <= BigInt(whole.from))
    return {
      kind: 'deleted',
      detail: `its record, ${at}, is deleted: the partition begins at offset ${whole.from}`,
    };
  const other = records.find((record) => record.partition === partition && record.offset === from);
  return other === undefined
    ? another(`its record is no longer at ${at}: the log is compacted, or another one`)
    : another(
        `another record is at ${at}, of ${other.id ?? 'no message'}: the topic was created again, or restored`,
      );
}

const another = (detail: string): Missing => ({ kind: 'another-log', detail });
