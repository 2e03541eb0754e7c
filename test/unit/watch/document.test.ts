import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { AlertRule } from '../../../src/watch/alert-rule.ts';
import { alertRules } from '../../../src/watch/rules.ts';
import { inUnit } from '../../../src/watch/units.ts';

test('the document has every rule with its default', () => {
  const text = readFileSync(new URL('../../../docs/alerts.md', import.meta.url), 'utf8');
  const rows = text.split('\n').filter((line) => line.startsWith('| `'));
  const wanted = Object.entries<AlertRule>(alertRules).map(
    ([name, { below, measures, next, normal, unit }]) => {
      const command = next('group NAME').replace('NAME', '<name>').replaceAll('|', '\\|');
      return `| \`${name}\` | ${measures} | ${below === true ? 'below ' : ''}${inUnit(unit, normal)} | \`${command}\` |`;
    },
  );
  expect(rows).toEqual(wanted);
});
