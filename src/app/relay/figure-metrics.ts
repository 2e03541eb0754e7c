import type { Figures, MessageCount, NotedFigures } from '../../store/figures/figures.ts';
import type { Meter, Observation } from '../../telemetry/meter.ts';
import type { MetricOf } from '../../telemetry/metrics.ts';

/** What was noted longer ago says nothing about now: no relay has read since. */
const staleAfterMs = 60_000;

type Reading = (figures: Figures) => readonly Observation[];

const seconds = (ms: number | null): number => (ms ?? 0) / 1_000;

const readings: Partial<Record<MetricOf<'gauge'>, Reading>> = {
  oldestDue: ({ oldestDueMs }) => [{ value: seconds(oldestDueMs) }],
  messages: ({ messages }) =>
    messages.map(({ messages: value, state, topic }) => ({ value, attributes: { topic, state } })),
  parkedMessages: ({ groups }) =>
    groups.map(({ group, parked }) => ({ value: parked, attributes: { group } })),
  parkedKeys: ({ groups }) =>
    groups.map(({ group, parkedKeys }) => ({ value: parkedKeys, attributes: { group } })),
  parkedFailed: ({ groups }) => groups.map(({ failed, group }) => ({ value: failed, attributes: { group } })),
  parkedOldest: ({ groups }) =>
    groups.map(({ group, oldestParkedMs }) => ({ value: seconds(oldestParkedMs), attributes: { group } })),
  lag: ({ lags }) =>
    lags.map(({ group, messages, topic }) => ({ value: messages, attributes: { group, topic } })),
  receiptsOverdue: ({ receiptsOverdue }) => [
    { value: receiptsOverdue.reduce((sum, { messages }) => sum + messages, 0) },
  ],
  archiveBehind: ({ archive }) => [{ value: seconds(archive.behindMs) }],
  clockOffset: ({ clockOffsetMs }) => [{ value: seconds(-clockOffsetMs) }],
  // The first that expires of each server comes first.
  certificate: ({ certificates }) =>
    [...new Map(certificates.toReversed().map(({ leftMs, server }) => [server, leftMs]))].map(
      ([server, leftMs]) => ({ value: seconds(leftMs), attributes: { server } }),
    ),
  relays: ({ relays }) => [{ value: relays }],
};

/** Exports the figures of the database that some relay has noted last. */
export class FigureMetrics {
  readonly #stops: readonly (() => void)[];
  /** What was counted once, as 0: an application's provider goes on to tell the last count of what is counted no longer. */
  readonly #none = new Map<string, MessageCount>();
  #noted: NotedFigures | undefined;
  #seenAt = 0;

  constructor(meter: Meter) {
    this.#stops = Object.entries(readings).map(([metric, read]) =>
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the names of the table are those of gauges
      meter.watch(metric as MetricOf<'gauge'>, () => this.#read(read)),
    );
  }

  seen(noted: NotedFigures): void {
    const { figures } = noted;
    const counted = new Map(figures.messages.map((count) => [`${count.state} ${count.topic}`, count]));
    for (const [name, count] of counted) this.#none.set(name, { ...count, messages: 0 });
    this.#noted = {
      ...noted,
      figures: { ...figures, messages: [...new Map([...this.#none, ...counted]).values()] },
    };
    this.#seenAt = performance.now();
  }

  stop(): void {
    for (const stop of this.#stops) stop();
  }

  #read(read: Reading): readonly Observation[] {
    if (this.#noted === undefined) return [];
    const { agoMs, figures } = this.#noted;
    return agoMs + performance.now() - this.#seenAt > staleAfterMs ? [] : read(figures);
  }
}
