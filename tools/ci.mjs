/** Runs every gate in order and stops at the first failure, because later ones would only repeat it. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { testTimes } from './test-times.mjs';

// The linter is type-aware, so the Prisma client is generated first.
const gates = [
  'generate',
  'format:check',
  'lint',
  'types',
  'deadcode',
  'build',
  'api:check',
  'package:check',
  'test:core',
  'test:transports',
  'test:package',
  'examples',
  'test:scale',
  'bench:check',
  'test:faults',
  // The oldest and the newest Node; `npm run versions` runs the full table.
  'versions -- --ci',
  // Each commit plants a few of the bugs that tests must catch; over several commits all are covered.
  'test:mutations -- --rotate 8',
];
/** Bugs that nobody chose, others in each run. What survives is told and fails nothing: a sample is no gate, and a slow machine leaves it. */
const sample = 'test:mutations -- --random 6 --unit --minutes 2';
const sampleWithinMs = 60 * 60_000;
/** Set by `.ci/run`, which counts what passed and failed: the folder for one result file per gate that runs tests. */
const givenFolder = process.env.VITEST_RESULT_FOLDER;
const resultFolder = givenFolder ?? mkdtempSync(path.join(tmpdir(), 'temporal-outbox-results-'));

function passes(gate) {
  const startedAtMs = Date.now();
  const { status } = spawnSync('npm', ['run', '--silent', ...gate.split(' ')], {
    stdio: 'inherit',
    env: { ...process.env, VITEST_RESULT_FILE: path.join(resultFolder, `${gate.replace(':', '-')}.json`) },
  });
  const seconds = ((Date.now() - startedAtMs) / 1000).toFixed(1);
  console.log(`=== ${gate}: ${status === 0 ? 'green' : 'RED'} after ${seconds} s ===`);
  return status === 0;
}

const begunAtMs = Date.now();
const green = gates.every((gate, index) => {
  console.log(`\n=== ${index + 1}/${gates.length} ${gate} ===`);
  return passes(gate);
});
if (!green) process.exitCode = 1;
else if (Date.now() - begunAtMs < sampleWithinMs) {
  console.log(`\n=== ${sample} ===`);
  if (!passes(sample)) process.exitCode = 1;
}
// So that growth is seen.
console.log(`\n${testTimes(resultFolder).join('\n')}`);
if (givenFolder === undefined) rmSync(resultFolder, { recursive: true });
