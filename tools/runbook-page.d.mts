import type { AlertRule } from '../src/watch/figure.ts';
import type { RunbookEntry } from '../src/watch/runbook-entry.ts';
import type { inUnit } from '../src/watch/units.ts';

/** A rule of Prometheus, as far as the page needs it. */
export interface PrometheusRule {
  readonly alert: string;
  readonly annotations: { readonly run: string; readonly runbook_url: string };
}

/** The rules of Prometheus in the text of a file. */
export function prometheusRulesOf(text: string): readonly PrometheusRule[];

/** The text of docs/runbook.md. */
export function runbookPage(from: {
  readonly alertRules: Readonly<Record<string, AlertRule>>;
  readonly commandsOf: (rule: AlertRule) => readonly string[];
  readonly inUnit: typeof inUnit;
  readonly prometheusRunbook: Readonly<Record<string, RunbookEntry>>;
  readonly prometheusRules: readonly PrometheusRule[];
  readonly runbookOf: (alert: string) => string;
}): string;
