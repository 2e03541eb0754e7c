/** Writes what is made of something else: `npm run generated`, or `npm run generated -- states errors` for some of it. */
import { spawnSync } from 'node:child_process';

/** What each is called, and the program with its arguments that writes it. */
const generators = {
  alerts: ['tools/alerts-table.mjs'],
  api: ['tools/api-report.mjs', '--write'],
  capabilities: ['tools/capabilities-table.mjs'],
  dashboard: ['tools/dashboard.mjs'],
  errors: ['tools/errors-page.mjs'],
  'http-api': ['tools/http-api-page.mjs'],
  imports: ['tools/import-table.mjs'],
  metrics: ['tools/metrics-page.mjs'],
  'prometheus-rules': ['tools/prometheus-rules.mjs'],
  proofs: ['tools/proofs-page.mjs'],
  runbook: ['tools/runbook-page.mjs'],
  states: ['tools/states-page.mjs'],
};

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !Object.hasOwn(generators, name));
if (unknown.length > 0)
  throw new Error(
    `Nothing is called ${unknown.join(', ')}. There are: ${Object.keys(generators).join(', ')}.`,
  );
for (const [name, args] of Object.entries(generators)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  const { status } = spawnSync(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  console.log(`${status === 0 ? 'written' : 'FAILED '}  ${name}`);
  if (status !== 0) process.exitCode = 1;
}
