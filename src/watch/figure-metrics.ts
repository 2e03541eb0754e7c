import type { Figures, NotedFigures } from '../store/figures/figures.ts';
import type { Attributes, Meter, Observation } from '../telemetry/meter.ts';
import type { ExportedFigure } from './figure.ts';
import { exportedFigures } from './figures.ts';
import type { Labels } from './labels.ts';
import { metricOf } from './metrics.ts';
import { inMetric } from './units.ts';
import { worst } from './worst.ts';

/** What was noted longer ago says nothing about now: no relay has read since. */
const staleAfterMs = 60_000;

/** Exports the figures of the database that some relay has noted last. */
export class FigureMetrics {
  readonly #stops: readonly (() => void)[];
  /** Attribute sets seen so far, by figure: an application's provider keeps exporting the last value of a series that is no longer observed. */
  readonly #once = new Map<ExportedFigure, Map<string, Attributes>>();
  readonly #groups = new Set<string>();
  #noted: NotedFigures | undefined;
  #seenAt = 0;

  constructor(meter: Meter) {
    this.#stops = Object.entries(exportedFigures).map(([name, figure]) =>
      meter.watch(metricOf(name, figure), () => this.#read(figure)),
    );
  }

  seen(noted: NotedFigures): void {
    const { figures } = noted;
    for (const { group } of figures.groups) this.#groups.add(group);
    for (const figure of Object.values(exportedFigures)) {
      const once = this.#once.get(figure) ?? new Map<string, Attributes>();
      for (const { attributes = {} } of observationsOf(figure, figures))
        once.set(JSON.stringify(attributes), attributes);
      this.#once.set(figure, once);
    }
    this.#noted = noted;
    this.#seenAt = performance.now();
  }

  stop(): void {
    for (const stop of this.#stops) stop();
  }

  #read(figure: ExportedFigure): readonly Observation[] {
    if (this.#noted === undefined) return [];
    const { agoMs, figures } = this.#noted;
    if (agoMs + performance.now() - this.#seenAt > staleAfterMs) return [];
    const now = observationsOf(figure, figures);
    const missing = new Map(this.#once.get(figure));
    for (const { attributes } of now) missing.delete(JSON.stringify(attributes));
    const none = [...missing.values()].filter(
      (attributes) => figure.metric.ends === true || this.#isGone(attributes, figures),
    );
    return [...now, ...none.map((attributes) => ({ value: 0, attributes }))];
  }

  /** A lag or a certificate that is missing is unknown, not zero, unless its group is gone. */
  #isGone({ group }: Attributes, { groups }: Figures): boolean {
    return group !== undefined && this.#groups.has(group) && !groups.some((one) => one.group === group);
  }
}

/** The values of a figure by the labels of its metric. */
function observationsOf(figure: ExportedFigure, figures: Figures): readonly Observation[] {
  const { measure, metric, of, unit } = figure;
  const by = metric.by ?? of.flat();
  const attributesOf = (labels: Labels): Attributes =>
    Object.fromEntries(by.map((label) => [label, labels[label] ?? '']));
  const values = (metric.read ?? measure)(figures);
  return worst(figure, values, (labels) => JSON.stringify(attributesOf(labels))).map((measured) => ({
    value: inMetric(unit, measured.figure),
    attributes: attributesOf(measured.of),
  }));
}
