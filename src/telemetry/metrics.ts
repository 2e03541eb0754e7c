import { countedMetrics } from './counted-metrics.ts';
import { figureGauges } from './figure-gauges.ts';
import type { Metric } from './metric.ts';

/** All metrics of the product. */
export const metrics = { ...countedMetrics, ...figureGauges };

export type MetricName = keyof typeof metrics;

/** The metrics of one kind. */
export type MetricOf<Kind extends Metric['kind']> = {
  [Name in MetricName]: (typeof metrics)[Name]['kind'] extends Kind ? Name : never;
}[MetricName];
