/**
 * Builds `dist` from nothing. With `--when-stale` only if something that it is made of changed since, and without a
 * word unless it fails, so that `npm run demo` and its like can always call it.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';

const sources = [
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
const stamp = 'dist/.built';
const whenStale = process.argv.includes('--when-stale');

/** Time of the last change in ms since 1970; 0 where there is nothing. Folders count, as files may have gone. */
function changedAtMs(path) {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return 0;
  if (!stats.isDirectory()) return stats.mtimeMs;
  const entries = readdirSync(path).filter((name) => name !== 'generated');
  return Math.max(0, ...entries.map((name) => changedAtMs(`${path}/${name}`)));
}

/** Says how Node and TypeScript are to read what is built into the folder. */
function declareModules(folder, type) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/package.json`, `${JSON.stringify({ type })}\n`);
}

/** True when the command succeeded; what it said is shown otherwise. */
function succeeds(command, ...args) {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) process.stderr.write(`${stdout}${stderr}`);
  return status === 0;
}

function build() {
  rmSync('dist', { recursive: true, force: true });
  // The library is CommonJS: one build that every project can load, so that none ever holds two copies of its state.
  declareModules('dist', 'commonjs');
  // Programs of tests and benchmarks are what an ESM project is to it.
  declareModules('dist/bench', 'module');
  declareModules('dist/test', 'module');
  return (
    succeeds(process.execPath, 'tools/generate.mjs') &&
    succeeds('npx', '--no-install', 'tsc', '-p', 'tsconfig.build.json') &&
    succeeds('npx', '--no-install', 'tsc', '-p', 'tsconfig.programs.json') &&
    succeeds(process.execPath, 'tools/bundle-workflows.mjs')
  );
}

if (!whenStale || Math.max(...sources.map((path) => changedAtMs(path))) >= changedAtMs(stamp)) {
  if (build()) {
    mkdirSync('dist', { recursive: true });
    writeFileSync(stamp, '');
  } else {
    process.exitCode = 1;
  }
}
