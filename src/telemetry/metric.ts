/** A metric of the product. Names and attributes follow OpenTelemetry's conventions where they have one. */
export interface Metric {
  /** As OpenTelemetry names it; Prometheus shows it with underscores, its unit, and `_total` for counters. */
  readonly name: string;
  /**
   * `counter`: what has happened since the process began. `level`: what is so now, counted up and down. `histogram`: how long things took.
   * `gauge`: what was read a moment ago.
   */
  readonly kind: 'counter' | 'level' | 'histogram' | 'gauge';
  /** By UCUM. */
  readonly unit: string;
  /** What it says, for the page of metrics and for those who scrape. */
  readonly meaning: string;
  /** Names of its attributes. Never a key, a ref or an id: their number is not bounded. */
  readonly attributes: readonly string[];
  /** When somebody should look, and what to do then. */
  readonly watch?: { readonly when: string; readonly todo: string };
}

/** As Prometheus shows it. */
export function prometheusName({ kind, name, unit }: Metric): string {
  const words = name.replaceAll('.', '_');
  const seconds = unit === 's' ? '_seconds' : '';
  return `${words}${seconds}${kind === 'counter' ? '_total' : ''}`;
}
