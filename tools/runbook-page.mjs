/** Generates docs/runbook.md from src/watch and deploy/prometheus/rules.yaml. */
import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { parse } from 'yaml';

const escaped = (text) => text.replaceAll('|', String.raw`\|`);

/** The rules of Prometheus in this file. */
export function prometheusRulesOf(text) {
  return parse(text).groups.flatMap(({ rules }) => rules);
}

function section({ commands, entry: { avoid, causes, means }, name, told }) {
  return `## ${name}

${told}

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
export function runbookPage({
  alertRules,
  commandsOf,
  inUnit,
  prometheusRunbook,
  prometheusRules,
  runbookOf,
}) {
  const heardAs = (name) =>
    prometheusRules
      .filter(({ annotations }) => annotations.runbook_url === runbookOf(name))
      .map(({ alert }) => `\`${alert}\``);
  const own = Object.entries(alertRules).map(([name, rule]) => {
    const others = heardAs(name);
    const threshold = `${rule.below === true ? 'below' : 'above'} ${inUnit(rule.unit, rule.threshold)}`;
    const also = others.length === 0 ? '' : ` In Prometheus: ${others.join(', ')}.`;
    return {
      name,
      entry: rule.runbook,
      others,
      told: `Fires ${threshold}: ${rule.meaning}.${also}`,
      commands: commandsOf(rule),
    };
  });
  const foreign = Object.entries(prometheusRunbook).map(([name, entry]) => {
    const rule = prometheusRules.find(({ alert }) => alert === name);
    return {
      name,
      entry,
      others: heardAs(name),
      told: 'Only in Prometheus.',
      commands: [rule.annotations.run],
    };
  });
  const sections = [...own, ...foreign];
  const row = ({ name, others }) => `| [${name}](#${name.toLowerCase()}) | ${others.join(', ')} |`;
  return `# Runbook

Generated from \`src/watch\` and \`deploy/prometheus/rules.yaml\` by \`npm run generated\`; do not edit. Find the alert, run its
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
  const { prometheusRunbook } = await import('../dist/src/watch/runbook.js');
  const { runbookOf } = await import('../dist/src/watch/runbook-entry.js');
  const { inUnit } = await import('../dist/src/watch/units.js');
  const text = readFileSync(new URL('../deploy/prometheus/rules.yaml', import.meta.url), 'utf8');
  const prometheusRules = prometheusRulesOf(text);
  const page = runbookPage({ alertRules, commandsOf, inUnit, prometheusRunbook, prometheusRules, runbookOf });
  writeFileSync(new URL('../docs/runbook.md', import.meta.url), page);
}
