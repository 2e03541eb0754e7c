/**
 * Compares the public names of every entry point with the reports in `etc/api`, so that a change of the surface is
 * seen in review, and docs/options.md with the docstrings. `--write` renews them. Reads the declarations in `dist`: build first.
 *
 * Fails, even with `--write`, when a public name has no docstring, or a type it refers to is exported neither with it nor by
 * `temporal-outbox/transports`: every configuration refers to transports, but only their authors name the types of one.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor';
import { optionsPage } from './options-page.mjs';

const write = process.argv.includes('--write');
const root = resolve(import.meta.dirname, '..');
const { exports } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'));
const base = ExtractorConfig.loadFile(`${root}/api-extractor.json`);

const entries = Object.entries(exports)
  .filter(([, target]) => target.types !== undefined)
  .map(([path, target]) => ({ name: path === '.' ? 'index' : path.slice(2), types: target.types }));
/** Names that the other entry points may leave to this one. */
const ofTransports = new Set();
const isTransports = ({ name }) => name === 'transports';

function modelOf(name) {
  return JSON.parse(readFileSync(`${root}/dist/.api/${name}.api.json`, 'utf8'));
}

/** The problems of an entry point. */
function judge({ name, types }) {
  const configObject = structuredClone(base);
  configObject.mainEntryPointFilePath = resolve(root, types);
  configObject.apiReport.reportFileName = name;
  configObject.docModel.apiJsonFilePath = `<projectFolder>/dist/.api/${name}.api.json`;
  const extractorConfig = ExtractorConfig.prepare({
    configObject,
    configObjectFullPath: `${root}/api-extractor.json`,
    packageJsonFullPath: `${root}/package.json`,
  });
  const result = Extractor.invoke(extractorConfig, {
    localBuild: write,
    messageCallback: (message) => {
      if (message.logLevel === 'info') message.handled = true;
      const forgotten = message.messageId === 'ae-forgotten-export' && /"(.+?)"/.exec(message.text)?.[1];
      if (ofTransports.has(forgotten)) message.logLevel = ExtractorLogLevel.None;
    },
  });
  if (isTransports({ name }))
    for (const { name: known } of modelOf(name).members[0].members) ofTransports.add(known);
  return { name, flawed: result.errorCount > 0, changed: !write && result.apiReportChanged };
}

mkdirSync(`${root}/etc/api`, { recursive: true });
const missing = entries.filter(({ types }) => !existsSync(resolve(root, types)));
for (const { name, types } of missing) console.error(`${name}: ${types} was not built.`);

const judged = entries
  .filter((entry) => !missing.includes(entry))
  .toSorted((a, b) => Number(isTransports(b)) - Number(isTransports(a)))
  .map(judge);
const flawed = judged.filter((entry) => entry.flawed);
for (const { name } of flawed)
  console.error(
    `${name}: export what is forgotten, and say what each undocumented name means (errors above).`,
  );
const changed = judged.filter((entry) => entry.changed);
for (const { name } of changed)
  console.error(`${name}: etc/api/${name}.api.md differs. Renew with: npm run generated`);

const options = optionsPage(
  entries.map(({ name }) => ({
    path: name === 'index' ? 'temporal-outbox' : `temporal-outbox/${name}`,
    model: modelOf(name),
  })),
);
const page = `${root}/docs/options.md`;
if (write) writeFileSync(page, options);
else if (readFileSync(page, 'utf8') !== options) {
  console.error('docs/options.md differs. Renew with: npm run generated');
  process.exitCode = 1;
}

const known = new Set(entries.map(({ name }) => `${name}.api.md`));
const left = readdirSync(`${root}/etc/api`).filter((file) => file.endsWith('.api.md') && !known.has(file));
for (const file of left) console.error(`etc/api/${file} belongs to no entry point: remove it.`);

if (missing.length + flawed.length + changed.length + left.length > 0) process.exitCode = 1;
