/** Generates docs/runbook.md from src/watch. */
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const escaped = (text) => text.replaceAll('|', String.raw`\|`);

function section({ alert, commands, entry: { avoid, causes, means }, name, told }) {
  return `## ${name}

${told}${alert === name ? '' : ` In Prometheus: \`${alert}\`.`}

${means}

\`\`\`sh
${commands.join('\n')}
\`\`\`

| it shows | do |
| --- | --- |
${causes.map(({ seen, todo }) => `| ${escaped(seen)} | ${escaped(todo)} |`).join('\n')}

**Do not** ${avoid}
`;
}

/** The page: a section for each alert of relays, then those that only Prometheus has. */
export function runbookPage({ alertRules, commandsOf, inUnit, prometheusAlert, prometheusOnly }) {
  const own = Object.entries(alertRules).map(([name, rule]) => ({
    name,
    alert: prometheusAlert(name),
    entry: rule.runbook,
    told: `Fires ${rule.below === true ? 'below' : 'above'} ${inUnit(rule.unit, rule.threshold)}: ${rule.meaning}.`,
    commands: commandsOf(rule),
  }));
  const foreign = Object.entries(prometheusOnly).map(([name, { run, runbook }]) => ({
    name,
    alert: name,
    entry: runbook,
    told: 'Only in Prometheus.',
    commands: [run],
  }));
  const sections = [...own, ...foreign];
  const row = ({ alert, name }) => `| [${name}](#${name.toLowerCase()}) | \`${alert}\` |`;
  return `# Runbook

Generated from \`src/watch\` by \`npm run generated\`; do not edit. Find the alert, run its
command, and do what stands beside what it shows. What services have stored is kept through all of this, and no row has to be
changed by hand.

| alert | in Prometheus |
| --- | --- |
${sections.map(row).join('\n')}

${sections.map(section).join('\n')}`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { commandsOf } = await import('../dist/src/watch/commands.js');
  const { alertRules } = await import('../dist/src/watch/figures.js');
  const { prometheusOnly } = await import('../dist/src/watch/prometheus-only.js');
  const { prometheusAlert } = await import('../dist/src/watch/prometheus-rules.js');
  const { inUnit } = await import('../dist/src/watch/units.js');
  const page = runbookPage({ alertRules, commandsOf, inUnit, prometheusAlert, prometheusOnly });
  writeFileSync(new URL('../docs/runbook.md', import.meta.url), page);
}
