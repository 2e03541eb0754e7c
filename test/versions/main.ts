import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { stdout } from 'node:process';
import { parseArgs } from 'node:util';
import { startPostgres } from '../../dev/servers/index.ts';
import type { LocalContext } from '../../dev/servers/local-context.ts';
import { openContext } from '../../dev/servers/open-context.ts';
import { postgresFromRegistry } from '../../dev/servers/postgres/postgres-binaries.ts';
import { lastLines } from '../../dev/servers/process/run-command.ts';
import { makeScratch } from '../mutations/scratch.ts';
import { inMemory } from '../support/fixtures/memory-cache.ts';
import { nodeFolder } from './node-program.ts';
import { packageFolders } from './package-folders.ts';
import { type Row, rows } from './rows.ts';
import { runSuite, type SuiteOptions, type SuiteResult } from './run-suite.ts';
import { withVersionTable } from './table.ts';

const root = resolve(import.meta.dirname, '..', '..');

const usage = 'npm run versions -- [--only node:20.19] [--ci] [--write]';

/** How the suites of a version ended, by their names. */
interface Tried {
  readonly row: Row;
  readonly results: Readonly<Record<string, SuiteResult>>;
}

/**
 * Runs what belongs to each version that the arguments choose, and answers the exit code: 1 when anything failed, or when
 * Node warned of anything. With `--write` it only renews the table in docs/versions.md.
 */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      ci: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
    },
  });
  if (values.write) {
    const page = join(root, 'docs/versions.md');
    writeFileSync(page, withVersionTable(readFileSync(page, 'utf8')));
    return 0;
  }
  const chosen = rows(values);
  if (chosen.length === 0) {
    tell(`No version of the table was chosen.\n${usage}`);
    return 2;
  }
  execFileSync(process.execPath, [join(root, 'tools/build.mjs'), '--when-stale'], { stdio: 'inherit' });
  // An ordinary run's results are no results of the run that this is part of.
  const { VITEST_RESULT_FILE: _file, VITEST_RESULT_FOLDER: _folder, ...env } = process.env;
  const context = await openContext({ env, progress: tell });
  // For the servers of suites that are ended, too.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  const tried: Tried[] = [];
  for (const row of chosen) tried.push({ row, results: await runRow(context, row) });
  tell(`\n${resultTable(tried)}`);
  const all = tried.flatMap(({ results }) => Object.values(results));
  return all.every(({ passed, warnings }) => passed && warnings === '') ? 0 : 1;
}

async function runRow(context: LocalContext, row: Row): Promise<Tried['results']> {
  if (row.kind === 'postgres') return runOnPostgres(context, row);
  const bin = row.node === undefined ? dirname(process.execPath) : await nodeFolder(context, row.node);
  if (row.packages === undefined) return runSuites(row, { root, bin, env: context.env });
  const copy = makeScratch(root, await packageFolders(context, row.packages));
  try {
    return await runSuites(row, { root: copy.root, bin, env: context.env });
  } finally {
    copy.remove();
  }
}

async function runOnPostgres(context: LocalContext, row: Row): Promise<Tried['results']> {
  const candidate = await postgresFromRegistry(context, row.version);
  if ('missing' in candidate) throw new Error(`PostgreSQL ${row.version}: ${candidate.missing}`);
  // Under CI nothing on PATH would be taken.
  const onPath = { PATH: `${candidate.found.bin}${delimiter}${context.env['PATH'] ?? ''}`, CI: '' };
  const server = await startPostgres({
    env: { ...(await inMemory(context.env)), ...onPath, DATABASE_URL: '' },
    durable: false,
  });
  try {
    const env = { ...context.env, DATABASE_URL: server.url };
    return await runSuites(row, { root, bin: dirname(process.execPath), env });
  } finally {
    await server.stop();
  }
}

async function runSuites(row: Row, options: Omit<SuiteOptions, 'folder'>): Promise<Tried['results']> {
  const results: Record<string, SuiteResult> = {};
  for (const suite of row.suites) {
    const folder = mkdtempSync(join(tmpdir(), 'outbox-versions-'));
    const result = await runSuite(suite, { ...options, folder }, row.node ?? process.versions.node);
    results[suite.name] = result;
    tell(`${row.kind} ${row.version} ${suite.name}: ${wordFor(result)}`);
    if (!result.passed) tell(lastLines(readFileSync(join(folder, `${suite.name}.log`), 'utf8'), 60));
    if (result.warnings !== '') tell(result.warnings);
    rmSync(folder, { recursive: true, force: true });
  }
  return results;
}

function resultTable(tried: readonly Tried[]): string {
  return tried
    .map(({ row, results }) => {
      const cells = Object.entries(results).map(([name, result]) => `${name} ${wordFor(result)}`);
      return `${row.kind.padEnd(14)}${row.line.padEnd(7)}${row.version.padEnd(17)}${cells.join(', ')}`;
    })
    .join('\n');
}

/** In capitals what makes the run red. */
function wordFor({ passed, warnings, seconds }: SuiteResult): string {
  const time = `after ${seconds.toFixed(0)} s`;
  if (!passed) return `RED ${time}`;
  return `${warnings === '' ? 'green' : 'WARNED'} ${time}`;
}

function tell(line: string): void {
  stdout.write(`${line}\n`);
}
