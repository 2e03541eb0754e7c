import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { commandsOf } from '../../../src/watch/commands.ts';
import type { AlertRule } from '../../../src/watch/figure.ts';
import { alertRules } from '../../../src/watch/figures.ts';
import { inUnit } from '../../../src/watch/units.ts';

test('the document has every rule with its default', () => {
  const text = readFileSync(new URL('../../../docs/alerts.md', import.meta.url), 'utf8');
  const rows = text.split('\n').filter((line) => line.startsWith('| `'));
  const wanted = Object.entries<AlertRule>(alertRules).map(([name, rule]) => {
    const { below, meaning, threshold, unit } = rule;
    const command = commandsOf(rule).at(-1)?.replaceAll('|', '\\|');
    return `| \`${name}\` | ${meaning} | ${below === true ? 'below ' : ''}${inUnit(unit, threshold)} | \`${command}\` |`;
  });
  expect(rows).toEqual(wanted);
});
