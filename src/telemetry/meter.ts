import type * as OpenTelemetry from '@opentelemetry/api';
import { type Api, loadApi } from './api.ts';
import { countedMetrics, type MetricOf } from './counted-metrics.ts';
import type { Metric } from './metric.ts';

/** Values of a metric's attributes, by name. */
export type Attributes = Readonly<Record<string, string>>;

/** A value that a gauge has now. */
export interface Observation {
  readonly value: number;
  readonly attributes?: Attributes;
}

/** Writes metrics to the provider that the process has set up. */
export interface Meter {
  add(metric: MetricOf<'counter' | 'level'>, value: number, attributes: Attributes): void;
  record(metric: MetricOf<'histogram'>, value: number, attributes: Attributes): void;
  /** Calls `observe` at each collection, until the returned function is called: for a counter it answers what was counted so far. */
  watch(metric: Metric, observe: () => readonly Observation[]): () => void;
}

/** Bounds of buckets in seconds: those of the conventions, and up to an hour for what waits. */
const buckets = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 300, 900, 3_600,
];

/** By provider. */
const meters = new WeakMap<OpenTelemetry.MeterProvider, Meter>();

/** @returns the meter of this package; `undefined` if the process has set up no provider of metrics: then nothing is measured */
export function meterFrom(api: Api): Meter | undefined {
  const provider = api.metrics.getMeterProvider();
  const own = provider.getMeter('temporal-outbox');
  if (own === api.createNoopMeter()) return undefined;
  const meter = meters.get(provider) ?? meterOf(own);
  meters.set(provider, meter);
  return meter;
}

function meterOf(own: OpenTelemetry.Meter): Meter {
  const counter = madeOnce((metric: Metric) =>
    metric.kind === 'counter'
      ? own.createCounter(metric.name, aboutOf(metric))
      : own.createUpDownCounter(metric.name, aboutOf(metric)),
  );
  const histogram = madeOnce((metric: Metric) =>
    own.createHistogram(metric.name, { ...aboutOf(metric), advice: { explicitBucketBoundaries: buckets } }),
  );
  const observed = madeOnce((metric: Metric) =>
    metric.kind === 'counter'
      ? own.createObservableCounter(metric.name, aboutOf(metric))
      : own.createObservableGauge(metric.name, aboutOf(metric)),
  );
  return {
    add: (metric, value, attributes) => counter(countedMetrics[metric]).add(value, attributes),
    record: (metric, value, attributes) => histogram(countedMetrics[metric]).record(value, attributes),
    watch: (metric, observe) => {
      const callback = (result: OpenTelemetry.ObservableResult): void => {
        for (const { attributes, value } of observe()) result.observe(value, attributes);
      };
      observed(metric).addCallback(callback);
      return () => observed(metric).removeCallback(callback);
    },
  };
}

function madeOnce<Instrument>(make: (metric: Metric) => Instrument): (metric: Metric) => Instrument {
  const made = new Map<Metric, Instrument>();
  return (metric) => {
    const instrument = made.get(metric) ?? make(metric);
    made.set(metric, instrument);
    return instrument;
  };
}

function aboutOf({ meaning, unit }: Metric): OpenTelemetry.MetricOptions {
  return { description: meaning, unit };
}

/** {@link meterFrom} of the installed package `@opentelemetry/api`; `undefined` as well without it. */
export async function openMeter(): Promise<Meter | undefined> {
  const api = await loadApi();
  return api && meterFrom(api);
}
