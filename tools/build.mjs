/**
 * Builds `dist` from scratch. With `--when-stale` it builds only if a source has changed since the last build, and
 * prints nothing unless it fails, so that `npm run demo` and similar scripts can always call it. A process waits while another
 * builds.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { exclusively } from './exclusively.mjs';

const sources = [
  'bin',
  'dev',
  'src',
  'workflows',
  'activities',
  'bench',
  'test/support',
  'prisma',
  'prisma.config.ts',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'tsconfig.programs.json',
];
/** Made by other commands. */
const unbuilt = new Set(['generated', 'node_modules', 'results']);
const stamp = 'dist/.built';
const whenStale = process.argv.includes('--when-stale');

/** Time of the last change in ms since 1970; 0 if there is nothing. Folders count, as files may have been removed. */
function changedAtMs(path) {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return 0;
  if (!stats.isDirectory()) return stats.mtimeMs;
  const entries = readdirSync(path).filter((name) => !unbuilt.has(name));
  return Math.max(0, ...entries.map((name) => changedAtMs(`${path}/${name}`)));
}

/** Writes the package.json that sets the module type of the files built into the folder. */
function declareModules(folder, type) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/package.json`, `${JSON.stringify({ type })}\n`);
}

/** True if the command succeeded; otherwise its output is shown. */
function succeeds(command, ...args) {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) process.stderr.write(`${stdout}${stderr}`);
  return status === 0;
}

/** So that `npx temporal-outbox` runs it in a clone, too; npm does the same when it installs a package. */
function executable(program) {
  chmodSync(program, 0o755);
  return true;
}

function build() {
  rmSync('dist', { recursive: true, force: true });
  // The library is CommonJS: one build that every project can load, so that no process has two copies of its state.
  declareModules('dist', 'commonjs');
  // Programs of tests and benchmarks use it as an ESM project would.
  declareModules('dist/bench', 'module');
  declareModules('dist/test', 'module');
  return (
    succeeds(process.execPath, 'tools/generate.mjs') &&
    succeeds('npx', '--no-install', 'tsc', '-p', 'tsconfig.build.json') &&
    succeeds('npx', '--no-install', 'tsc', '-p', 'tsconfig.programs.json') &&
    succeeds(process.execPath, 'tools/prune-types.mjs') &&
    succeeds(process.execPath, 'tools/bundle-workflows.mjs') &&
    executable('dist/bin/temporal-outbox.js')
  );
}

function isStale() {
  return Math.max(...sources.map((path) => changedAtMs(path))) >= changedAtMs(stamp);
}

if (!whenStale || isStale())
  exclusively('.build-lock', () => {
    // Another process may have built meanwhile.
    if (whenStale && !isStale()) return;
    if (build()) writeFileSync(stamp, '');
    else process.exitCode = 1;
  });
