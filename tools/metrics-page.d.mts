import type { Metric } from '../src/telemetry/metrics.ts';

/** The text of docs/metrics.md. */
export function metricsPage(
  metrics: Readonly<Record<string, Metric>>,
  prometheusName: (metric: Metric) => string,
): string;
