import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { errorRules } from '../../../src/core/errors.ts';
import { keptStates, keptTransitions } from '../../../src/core/parked-states.ts';
import { states, transitions } from '../../../src/core/transitions.ts';
import { prometheusName } from '../../../src/telemetry/metric.ts';
import * as transports from '../../../src/transports.ts';
import { commandsOf } from '../../../src/watch/commands.ts';
import { alertRules } from '../../../src/watch/figures.ts';
import { metrics } from '../../../src/watch/metrics.ts';
import { prometheusOnly } from '../../../src/watch/prometheus-only.ts';
import { prometheusAlert, prometheusRules } from '../../../src/watch/prometheus-rules.ts';
import { runbookOf } from '../../../src/watch/runbook-entry.ts';
import { inUnit } from '../../../src/watch/units.ts';
import { withCapabilities } from '../../../tools/capabilities-table.mjs';
import { errorsPage } from '../../../tools/errors-page.mjs';
import { withImportTable } from '../../../tools/import-table.mjs';
import { metricsPage } from '../../../tools/metrics-page.mjs';
import { runbookPage } from '../../../tools/runbook-page.mjs';
import { keptPart, outboxPart, statesPage } from '../../../tools/states-page.mjs';

const page = readFileSync(new URL('../../../docs/states.md', import.meta.url), 'utf8');
const rowsOf = (text: string): number => text.match(/^\| [a-z]+ \| [a-z]+ \| /gm)?.length ?? 0;

test('docs/states.md shows exactly the legal transitions', () => {
  const part = outboxPart({ states, transitions });

  expect(page).toContain(part);
  expect(rowsOf(part)).toBe(transitions.length + 1);
});

test('docs/states.md shows exactly the legal transitions of messages that a consumer keeps', () => {
  const part = keptPart({ keptStates, keptTransitions });

  expect(page).toContain(part);
  expect(rowsOf(part)).toBe(keptTransitions.length + 1);
  expect(page).toBe(statesPage({ states, transitions, keptStates, keptTransitions }));
});

test('docs/errors.md shows every error and what to do about it', () => {
  const written = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8');

  expect(written).toBe(errorsPage(errorRules));
  expect(written.match(/^\| `OUTBOX_/gm)).toHaveLength(Object.keys(errorRules).length);
});

test('docs/metrics.md shows every metric, and what to do about those that are to be watched', () => {
  const written = readFileSync(new URL('../../../docs/metrics.md', import.meta.url), 'utf8');

  expect(written).toBe(metricsPage(metrics, prometheusName));
  expect(written.match(/^\| `(?:outbox|messaging)_/gm)).toHaveLength(metrics.length);
});

test('docs/runbook.md has a section for every alert, of relays and of Prometheus, and each alert leads to its own', {
  tags: ['alerts-told-once'],
}, () => {
  const written = readFileSync(new URL('../../../docs/runbook.md', import.meta.url), 'utf8');
  expect(written).toBe(runbookPage({ alertRules, commandsOf, inUnit, prometheusAlert, prometheusOnly }));

  const headings = written.match(/(?<=^## ).+$/gm) ?? [];
  expect(headings).toEqual([...Object.keys(alertRules), ...Object.keys(prometheusOnly)]);
  const sections = new Set(headings.map(runbookOf));
  const led = prometheusRules().map(({ annotations }) => annotations.runbook_url);
  expect(new Set(led)).toEqual(sections);
  expect(led).toHaveLength(headings.length);
});

test('ARCHITECTURE.md shows the import rules of the linter', () => {
  const architecture = readFileSync(new URL('../../../ARCHITECTURE.md', import.meta.url), 'utf8');

  expect(architecture).toContain('| `src/core` | nothing |');
  expect(withImportTable(architecture)).toBe(architecture);
});

test('docs/transports/README.md shows what each transport declares', () => {
  const written = readFileSync(new URL('../../../docs/transports/README.md', import.meta.url), 'utf8');

  expect(written).toContain('| Kafka | yes | yes | – | yes | yes | yes | yes | yes | yes |');
  expect(written).toContain('| Redis channels | – |');
  expect(withCapabilities(written, transports)).toBe(written);
});
