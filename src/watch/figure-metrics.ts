import type { Figures, NotedFigures } from '../store/figures/figures.ts';
import type { Attributes, Meter, Observation } from '../telemetry/meter.ts';
import { figureGauges } from './figure-gauges.ts';

/** What was noted longer ago says nothing about now: no relay has read since. */
const staleAfterMs = 60_000;

type Reading = (figures: Figures) => readonly Observation[];

const seconds = (ms: number | null): number => (ms ?? 0) / 1_000;

const readings: Readonly<Record<keyof typeof figureGauges, Reading>> = {
  oldestDue: ({ due }) =>
    due.map(({ oldestDueMs, topic }) => ({ value: seconds(oldestDueMs), attributes: { topic } })),
  unreleased: ({ unreleasedMs }) => [{ value: seconds(unreleasedMs) }],
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
  consumers: ({ attended }) =>
    attended.map(({ consumers, group }) => ({ value: consumers, attributes: { group } })),
  addressPaused: ({ attended, pausedAddresses }) =>
    attended.map(({ group }) => ({
      value: seconds(pausedAddresses.find((paused) => paused.group === group)?.pausedMs ?? 0),
      attributes: { group },
    })),
  receiptsOverdue: ({ receiptsOverdue }) => [
    { value: receiptsOverdue.reduce((sum, { messages }) => sum + messages, 0) },
  ],
  archiveBehind: ({ archive }) => [{ value: seconds(archive.behindMs) }],
  clockOffset: ({ clocks }) =>
    clocks.map(({ aheadMs, host }) => ({ value: seconds(aheadMs), attributes: { host } })),
  // The first that expires of each server comes first.
  certificate: ({ certificates }) =>
    [...new Map(certificates.toReversed().map(({ leftMs, server }) => [server, leftMs]))].map(
      ([server, leftMs]) => ({ value: seconds(leftMs), attributes: { server } }),
    ),
  relays: ({ relays }) => [{ value: relays }],
};

/** A topic that is not read any more has no messages, and the clock of a host without a relay does not count. */
const endsWithItsSubject: ReadonlySet<string> = new Set<keyof typeof figureGauges>([
  'clockOffset',
  'oldestDue',
]);

/** Exports the figures of the database that some relay has noted last. */
export class FigureMetrics {
  readonly #stops: readonly (() => void)[];
  /** Attribute sets seen so far, by metric: an application's provider keeps exporting the last value of a series that is no longer observed. */
  readonly #once = new Map<string, Map<string, Attributes>>();
  readonly #groups = new Set<string>();
  #noted: NotedFigures | undefined;
  #seenAt = 0;

  constructor(meter: Meter) {
    this.#stops = Object.entries(readings).map(([metric, read]) =>
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the names of the table are those of gauges
      meter.watch(figureGauges[metric as keyof typeof figureGauges], () => this.#read(metric, read)),
    );
  }

  seen(noted: NotedFigures): void {
    const { figures } = noted;
    for (const { group } of figures.groups) this.#groups.add(group);
    for (const [metric, read] of Object.entries(readings)) {
      const once = this.#once.get(metric) ?? new Map<string, Attributes>();
      for (const { attributes } of read(figures))
        if (attributes !== undefined) once.set(JSON.stringify(attributes), attributes);
      this.#once.set(metric, once);
    }
    this.#noted = noted;
    this.#seenAt = performance.now();
  }

  stop(): void {
    for (const stop of this.#stops) stop();
  }

  #read(metric: string, read: Reading): readonly Observation[] {
    if (this.#noted === undefined) return [];
    const { agoMs, figures } = this.#noted;
    if (agoMs + performance.now() - this.#seenAt > staleAfterMs) return [];
    const now = read(figures);
    const missing = new Map(this.#once.get(metric));
    for (const { attributes } of now) missing.delete(JSON.stringify(attributes));
    const none = [...missing.values()].filter(
      (attributes) => endsWithItsSubject.has(metric) || this.#isNone(attributes, figures),
    );
    return [...now, ...none.map((attributes) => ({ value: 0, attributes }))];
  }

  /** Whether a missing series may be exported as 0. Not lags or certificates: those are unknown, not zero. */
  #isNone({ group, state }: Attributes, { groups }: Figures): boolean {
    if (group === undefined) return state !== undefined;
    return this.#groups.has(group) && !groups.some((one) => one.group === group);
  }
}
