/**
 * Compares the public names of every entry point with the reports in `etc/api`, so that a change of the surface is
 * seen in review. `--write` renews the reports. Reads the declarations in `dist`: build first.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor';

const write = process.argv.includes('--write');
const root = resolve(import.meta.dirname, '..');
const { exports } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'));
const base = ExtractorConfig.loadFile(`${root}/api-extractor.json`);

const entries = Object.entries(exports)
  .filter(([, target]) => target.types !== undefined)
  .map(([path, target]) => ({ name: path === '.' ? 'index' : path.slice(2), types: target.types }));

/** True when the report of the entry point says what the declarations say. */
function agrees({ name, types }) {
  const configObject = structuredClone(base);
  configObject.mainEntryPointFilePath = resolve(root, types);
  configObject.apiReport.reportFileName = name;
  const extractorConfig = ExtractorConfig.prepare({
    configObject,
    configObjectFullPath: `${root}/api-extractor.json`,
    packageJsonFullPath: `${root}/package.json`,
  });
  const result = Extractor.invoke(extractorConfig, {
    localBuild: write,
    messageCallback: (message) => {
      if (message.logLevel === 'info') message.handled = true;
    },
  });
  return result.succeeded && (write || !result.apiReportChanged);
}

mkdirSync(`${root}/etc/api`, { recursive: true });
const missing = entries.filter(({ types }) => !existsSync(resolve(root, types)));
for (const { name, types } of missing) console.error(`${name}: ${types} was not built.`);

const changed = entries.filter((entry) => !missing.includes(entry)).filter((entry) => !agrees(entry));
for (const { name } of changed)
  console.error(`${name}: etc/api/${name}.api.md differs. Renew with: npm run api`);

const known = new Set(entries.map(({ name }) => `${name}.api.md`));
const left = readdirSync(`${root}/etc/api`).filter((file) => file.endsWith('.api.md') && !known.has(file));
for (const file of left) console.error(`etc/api/${file} belongs to no entry point: remove it.`);

if (missing.length + changed.length + left.length > 0) process.exitCode = 1;
