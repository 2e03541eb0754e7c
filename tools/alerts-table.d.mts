import type { RunbookTables } from './runbook-page.mjs';

/** The text of docs/alerts.md with its table updated. */
export function withAlertsTable(
  page: string,
  tables: Pick<RunbookTables, 'alertRules' | 'commandsOf' | 'inUnit'>,
): string;
