import type { Partition } from '../sources/source.ts';
import type { Position } from './consumer-event.ts';

/** A partition that stands still because of one message. */
export interface FailingPartition extends Position {
  /** Name of the topic when the message tells it. */
  readonly topic: string | undefined;
  /** What the last try ended with. */
  readonly error: unknown;
  readonly attempts: number;
  /** When its first try failed. */
  readonly since: Date;
}

/** The one message per partition that keeps failing. */
export class FailingPartitions {
  readonly #byPartition = new Map<string, FailingPartition>();

  list(): readonly FailingPartition[] {
    return [...this.#byPartition.values()];
  }

  /** How often the message at this position has failed. */
  attempts(position: Position): number {
    return this.#at(position)?.attempts ?? 0;
  }

  failed(position: Position, topic: string | undefined, error: unknown): void {
    const { address, partition, offset } = position;
    const before = this.#at(position);
    this.#byPartition.set(nameOf(position), {
      address,
      partition,
      offset,
      topic,
      error,
      attempts: (before?.attempts ?? 0) + 1,
      since: before?.since ?? new Date(),
    });
  }

  /** @returns whether the partition had been standing on this message */
  settled(position: Position): boolean {
    // Asked for every message, and nearly always there is none.
    if (this.#byPartition.size === 0) return false;
    return this.#at(position) !== undefined && this.#byPartition.delete(nameOf(position));
  }

  /** Forgets the partitions of others: they know better how theirs are. */
  keepOnly(partitions: readonly Partition[]): void {
    const mine = new Set(partitions.map(nameOf));
    for (const name of this.#byPartition.keys()) if (!mine.has(name)) this.#byPartition.delete(name);
  }

  #at(position: Position): FailingPartition | undefined {
    const known = this.#byPartition.get(nameOf(position));
    return known?.offset === position.offset ? known : undefined;
  }
}

function nameOf({ address, partition }: Partition): string {
  return `${address}/${partition}`;
}
