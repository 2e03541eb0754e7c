import type { Partition } from '../../brokers/source.ts';
import type { ConsumerReport, Position } from '../consumer-event.ts';
import { nextPauseMs } from '../handling/retry-pace.ts';

/** A partition that stands still because of one message. */
export interface FailingPartition extends Position {
  /** Name of the topic, if the message names one. */
  readonly topic: string | undefined;
  /** The error of the last try. */
  readonly error: unknown;
  /** Number of failed tries since this consumer got the partition. */
  readonly attempts: number;
  /** When its first try failed. */
  readonly since: Date;
}

/** Messages that keep failing: one per partition, or up to as many as are handled concurrently. */
export class FailingPartitions {
  readonly #byPartition = new Map<string, Map<string, FailingPartition>>();
  readonly #report: ConsumerReport;

  constructor(report: ConsumerReport) {
    this.#report = report;
  }

  /** One per partition: the message that has failed for the longest time. */
  list(): readonly FailingPartition[] {
    return [...this.#byPartition.values()].flatMap((those) => [...those.values()].slice(0, 1));
  }

  /** How often the message at this position has failed. */
  attempts(position: Position): number {
    return this.#byPartition.get(nameOf(position))?.get(position.offset)?.attempts ?? 0;
  }

  failed(position: Position, topic: string | undefined, error: unknown): void {
    const { address, partition, offset } = position;
    const those = this.#byPartition.get(nameOf(position)) ?? new Map<string, FailingPartition>();
    const before = those.get(offset);
    this.#byPartition.set(nameOf(position), those);
    those.set(offset, {
      address,
      partition,
      offset,
      topic,
      error,
      attempts: (before?.attempts ?? 0) + 1,
      since: before?.since ?? new Date(),
    });
  }

  /**
   * Notes that a message has failed, and reports that its partition pauses.
   *
   * @param retryInMs @defaultValue longer each time
   * @returns for how long, in milliseconds
   */
  pause(
    { address, partition, offset }: Position,
    topic: string | undefined,
    error: unknown,
    retryInMs?: number,
  ): number {
    const position = { address, partition, offset };
    const pauseMs = retryInMs ?? nextPauseMs(this.attempts(position));
    this.failed(position, topic, error);
    const attempt = this.attempts(position);
    this.#report({ type: 'partition-paused', ...position, attempt, error, retryInMs: pauseMs });
    return pauseMs;
  }

  /** Notes that a message has ended, and reports if its partition thereby continues. */
  settled({ address, partition, offset }: Position): void {
    // Called for every message; nearly always empty.
    if (this.#byPartition.size === 0) return;
    const position = { address, partition, offset };
    const those = this.#byPartition.get(nameOf(position));
    if (those?.delete(offset) === true && this.#forgetEmpty(position, those))
      this.#report({ type: 'partition-resumed', ...position });
  }

  /** Forgets messages that the broker no longer offers: handled by another consumer, or expired. */
  offered(partition: Partition, offsets: () => readonly string[]): void {
    const those = this.#byPartition.get(nameOf(partition));
    if (those === undefined) return;
    const open = new Set(offsets());
    for (const offset of those.keys()) if (!open.has(offset)) those.delete(offset);
    this.#forgetEmpty(partition, those);
  }

  /** Forgets partitions that are no longer assigned. */
  keepOnly(partitions: readonly Partition[]): void {
    const mine = new Set(partitions.map(nameOf));
    for (const name of this.#byPartition.keys()) if (!mine.has(name)) this.#byPartition.delete(name);
  }

  #forgetEmpty(partition: Partition, those: ReadonlyMap<string, FailingPartition>): boolean {
    return those.size === 0 && this.#byPartition.delete(nameOf(partition));
  }
}

function nameOf({ address, partition }: Partition): string {
  return `${address}/${partition}`;
}
