/** Generates deploy/prometheus/rules.yaml from src/watch. */
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { stringify } from 'yaml';

/** The text of the file. */
export function prometheusFile(rules) {
  const groups = [{ name: 'temporal-outbox', rules }];
  return `# Generated from \`src/watch\` by \`npm run generated\`; do not edit.
# Alerts that a person must act on, over the metrics of \`temporal-outbox relay --metrics\`. No text has a key, ref or id of a message.
# \`runbook_url\` is the path in this package: put the address before it where you keep its documents.
# Installations are told apart by the label \`job\`: give each its own job, also where one Prometheus scrapes several.
${stringify({ groups }, { lineWidth: 0, aliasDuplicateObjects: false })}`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { prometheusRules } = await import('../dist/src/watch/prometheus-rules.js');
  writeFileSync(
    new URL('../deploy/prometheus/rules.yaml', import.meta.url),
    prometheusFile(prometheusRules()),
  );
}
