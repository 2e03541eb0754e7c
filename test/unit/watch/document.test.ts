import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { commandsOf } from '../../../src/watch/commands.ts';
import { alertRules } from '../../../src/watch/figures.ts';
import { inUnit } from '../../../src/watch/units.ts';
import { withAlertsTable } from '../../../tools/alerts-table.mjs';

test('the document has every rule with its default', () => {
  const text = readFileSync(new URL('../../../docs/alerts.md', import.meta.url), 'utf8');
  expect(withAlertsTable(text, { alertRules, commandsOf, inUnit })).toBe(text);
  expect(text.split('\n').filter((line) => line.startsWith('| `'))).toHaveLength(
    Object.keys(alertRules).length,
  );
});
