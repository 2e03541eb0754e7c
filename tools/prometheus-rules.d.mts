import type { PrometheusRule } from '../src/watch/prometheus-rules.ts';

/** The text of deploy/prometheus/rules.yaml. */
export function prometheusFile(rules: readonly PrometheusRule[]): string;
