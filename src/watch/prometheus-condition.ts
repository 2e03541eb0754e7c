import type { Label } from './labels.ts';

/** When the rule of Prometheus fires: beyond the same threshold as that of relays. */
export type PrometheusCondition = {
  readonly severity: 'critical' | 'warning';
  /** The labels of its result. @defaultValue those of the metric, or of the figure */
  readonly labels?: readonly Label[];
  /** @defaultValue the sentence of the rule */
  readonly summary?: string;
} & (Compared | Lasting | Written);

/** A value is compared with the threshold. */
interface Compared {
  /** PromQL, in seconds for a time. @defaultValue the worst value of the metric */
  readonly compared?: string;
  /** How long it is beyond it until somebody is told. */
  readonly for: string;
}

/** Something has been so for as long as the threshold. */
interface Lasting {
  /** PromQL. */
  readonly lasting: string;
}

/** Whatever else compares with a threshold. */
interface Written {
  /** PromQL. */
  readonly expr: (threshold: number) => string;
  readonly for: string;
}

/**
 * PromQL: a counter has grown by more than this within 15 minutes. `increase` does not see the first event, with which a counter
 * begins.
 */
export function grownBeyond(counter: string, threshold: number): string {
  return `sum by (job) (increase(${counter}[15m])) > ${threshold} or sum by (job) (${counter} unless ${counter} offset 15m) > ${threshold}`;
}
