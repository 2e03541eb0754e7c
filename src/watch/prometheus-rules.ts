import { capitalized } from '../core/capitalized.ts';
import { prometheusName } from '../telemetry/metric.ts';
import { commandOf, labelled } from './commands.ts';
import type { AlertRule } from './figure.ts';
import { alertRules } from './figures.ts';
import { type Label, subjectOf } from './labels.ts';
import { metricOf } from './metrics.ts';
import { prometheusOnly } from './prometheus-only.ts';
import { runbookOf } from './runbook-entry.ts';
import { inMetric, inUnit, minute } from './units.ts';

/** An alerting rule as Prometheus reads it. */
export interface PrometheusRule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: 'critical' | 'warning' };
  readonly annotations: {
    readonly summary: string;
    /** The command to run. */
    readonly run: string;
    readonly runbook_url: string;
  };
}

/** What the rule of Prometheus is called that is made of a rule of relays. */
export function prometheusAlert(name: string): string {
  return `Outbox${capitalized(name)}`;
}

/** The rules of Prometheus: those of which no relay can tell, and one for each rule of relays, with its threshold. */
export function prometheusRules(): readonly PrometheusRule[] {
  const only = Object.entries(prometheusOnly).map(
    ([alert, { expr, for: lasts, run, severity, summary }]) => ({
      alert,
      expr,
      for: lasts,
      labels: { severity },
      annotations: { summary, run, runbook_url: runbookOf(alert) },
    }),
  );
  return [...only, ...Object.entries<AlertRule>(alertRules).map(([name, rule]) => ruleOf(name, rule))];
}

function ruleOf(name: string, rule: AlertRule): PrometheusRule {
  const { metric, of, prometheus, says, threshold } = rule;
  const by = prometheus.labels ?? metric?.by;
  const sets = by === undefined ? of : [by];
  const subject = eachOf(sets, (labels) => subjectOf(labelled(labels, (label) => `{{ $labels.${label} }}`)));
  return {
    alert: prometheusAlert(name),
    expr: expressionOf(name, rule, sets.flat()),
    for: 'lasting' in prometheus ? `${threshold / minute}m` : prometheus.for,
    labels: { severity: prometheus.severity },
    annotations: {
      summary: prometheus.summary ?? `${capitalized(says(figureOf(rule), subject))}.`,
      run: eachOf(sets, (labels) => commandOf(rule, labels)),
      runbook_url: runbookOf(name),
    },
  };
}

function expressionOf(name: string, rule: AlertRule, by: readonly Label[]): string {
  const { below = false, metric, prometheus, unit } = rule;
  const threshold = inMetric(unit, rule.threshold);
  if ('lasting' in prometheus) return prometheus.lasting;
  if ('expr' in prometheus) return prometheus.expr(threshold);
  const worst = `${below ? 'min' : 'max'} by (${['job', ...by].join(', ')})`;
  const exported = metric && `${worst} (${prometheusName(metricOf(name, { ...rule, metric }))})`;
  return `${prometheus.compared ?? exported} ${below ? '<' : '>'} ${threshold}`;
}

/** The value within a sentence, as a template of Prometheus. */
function figureOf({ prometheus, threshold, unit }: AlertRule): string {
  if ('lasting' in prometheus) return `more than ${inUnit(unit, threshold)}`;
  if (unit === 'time') return '{{ $value | humanizeDuration }}';
  return unit === 'share' ? '{{ $value | humanizePercentage }}' : `{{ $value }} ${unit}`;
}

/** A template that is what `make` makes of the labels that there are. */
function eachOf(
  [first = [], ...others]: readonly (readonly Label[])[],
  make: (labels: readonly Label[]) => string,
): string {
  return others.reduce(
    (otherwise, labels) => `{{ if $labels.${labels[0]} }}${make(labels)}{{ else }}${otherwise}{{ end }}`,
    make(first),
  );
}
