import type { AlertRule } from '../src/watch/figure.ts';
import type { RunbookEntry } from '../src/watch/runbook-entry.ts';
import type { inUnit } from '../src/watch/units.ts';

/** What the page is made of. */
export interface RunbookTables {
  readonly alertRules: Readonly<Record<string, AlertRule>>;
  readonly prometheusOnly: Readonly<Record<string, { readonly run: string; readonly runbook: RunbookEntry }>>;
  readonly commandsOf: (rule: AlertRule) => readonly string[];
  readonly inUnit: typeof inUnit;
  readonly prometheusAlert: (name: string) => string;
}

/** The text of docs/runbook.md. */
export function runbookPage(tables: RunbookTables): string;
