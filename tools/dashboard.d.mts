import type { Metric } from '../src/telemetry/metric.ts';

/** What the dashboard is made of. */
export interface DashboardTables {
  readonly metrics: readonly Metric[];
  readonly prometheusName: (metric: Metric) => string;
  /** The threshold of a rule, in the unit of its metric. */
  readonly thresholdOf: (rule: string) => number;
}

/** The dashboard of Grafana for these metrics. */
export function dashboardOf(tables: DashboardTables): object;
