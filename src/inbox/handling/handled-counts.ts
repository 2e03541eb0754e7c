import { countedMetrics } from '../../telemetry/counted-metrics.ts';
import type { Attributes, Meter } from '../../telemetry/meter.ts';

const counters = ['consumed', 'duplicates', 'parked'] as const;

/** How often something has ended in one way. */
export interface HandledCount {
  readonly of: (typeof counters)[number];
  readonly attributes: Attributes;
  readonly value: number;
}

/**
 * What this process has handled, summed by attributes: a consumer that has stopped may not have been exported yet, and of several
 * callbacks of one counter that observe equal attributes only the last one counts.
 */
class HandledCounts {
  readonly #ended = new Map<string, HandledCount>();
  readonly #running = new Set<() => readonly HandledCount[]>();
  readonly #told = new WeakSet<Meter>();

  add(count: HandledCount): void {
    addTo(this.#ended, count);
  }

  /**
   * Includes counts that grow. @param read what was counted so far
   *
   * @returns to be called when they no longer grow: their last values stay
   */
  include(read: () => readonly HandledCount[]): () => void {
    this.#running.add(read);
    return () => {
      if (this.#running.delete(read)) for (const count of read()) this.add(count);
    };
  }

  /** Has the meter observe everything, from now on. */
  tellTo(meter: Meter): void {
    if (this.#told.has(meter)) return;
    this.#told.add(meter);
    for (const counter of counters)
      meter.watch(countedMetrics[counter], () => this.#all().filter((count) => count.of === counter));
  }

  #all(): readonly HandledCount[] {
    const sums = new Map(this.#ended);
    for (const read of this.#running) for (const count of read()) addTo(sums, count);
    return [...sums.values()];
  }
}

function addTo(sums: Map<string, HandledCount>, { attributes, of, value }: HandledCount): void {
  const key = JSON.stringify([of, attributes]);
  sums.set(key, { of, attributes, value: value + (sums.get(key)?.value ?? 0) });
}

/** Those of this process. */
export const handledCounts = new HandledCounts();
