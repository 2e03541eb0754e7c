import type { Metric } from '../src/telemetry/metric.ts';

/** The text of docs/metrics.md. */
export function metricsPage(metrics: readonly Metric[], prometheusName: (metric: Metric) => string): string;
