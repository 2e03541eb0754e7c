/** Generates the table of rules in docs/alerts.md from src/watch. */
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const heading = '| rule | figure | tells above | next |\n| --- | --- | --- | --- |\n';

/** The page with its table updated. */
export function withAlertsTable(page, { alertRules, commandsOf, inUnit }) {
  const row = ([name, rule]) => {
    const threshold = `${rule.below === true ? 'below ' : ''}${inUnit(rule.unit, rule.threshold)}`;
    const command = commandsOf(rule).at(-1).replaceAll('|', String.raw`\|`);
    return `| \`${name}\` | ${rule.meaning} | ${threshold} | \`${command}\` |\n`;
  };
  const from = page.indexOf(heading) + heading.length;
  return `${page.slice(0, from)}${Object.entries(alertRules).map(row).join('')}${page.slice(page.indexOf('\n\n', from) + 1)}`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { commandsOf } = await import('../dist/src/watch/commands.js');
  const { alertRules } = await import('../dist/src/watch/figures.js');
  const { inUnit } = await import('../dist/src/watch/units.js');
  const file = new URL('../docs/alerts.md', import.meta.url);
  writeFileSync(file, withAlertsTable(readFileSync(file, 'utf8'), { alertRules, commandsOf, inUnit }));
}
