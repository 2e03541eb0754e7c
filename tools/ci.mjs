/**
 * Runs every gate and stops at the first failure, because later ones would only repeat it. A few red test files are run
 * once more, alone, before.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { secondRun, unstableLines } from './second-run.mjs';
import { testTimes } from './test-times.mjs';

/** One after the other. A step is a gate, or chains of gates that run side by side. */
const steps = [
  // The linter is type-aware, so the Prisma client is generated first.
  'generate',
  'build',
  // On a new machine, compiling Temporal takes as long as all the checks that need no server.
  [
    ['servers -- --with redis,rabbitmq,rocketmq -- true'],
    ['format:check', 'lint', 'types', 'deadcode', 'api:check', 'package:check'],
  ],
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
const unstable = [];

async function stepPasses(step) {
  if (typeof step === 'string') return passes(step, false);
  const outcomes = await Promise.all(step.map(chainPasses));
  return outcomes.every(Boolean);
}

async function chainPasses(gates) {
  for (const gate of gates) if (!(await passes(gate, true))) return false;
  return true;
}

/** Side by side, the output of a gate is shown when it ends. */
async function passes(gate, isBeside) {
  const startedAtMs = Date.now();
  const resultFile = path.join(resultFolder, `${gate.replace(':', '-')}.json`);
  if (!isBeside) console.log(`\n=== ${gate} ===`);
  const { isGreen, output } = await run(gate, [], resultFile, isBeside);
  if (isBeside) process.stdout.write(`\n=== ${gate} ===\n${output}`);
  const isGreenAfterAll = isGreen || (await passesAlone(gate, resultFile));
  const seconds = ((Date.now() - startedAtMs) / 1000).toFixed(1);
  console.log(`=== ${gate}: ${isGreenAfterAll ? 'green' : 'RED'} after ${seconds} s ===`);
  return isGreenAfterAll;
}

async function passesAlone(gate, resultFile) {
  const judgement = await secondRun(gate, resultFile, async (again, options, secondFile) => {
    console.log(`\n=== ${again}: its red files once more, alone ===`);
    return (await run(again, options, secondFile, false)).isGreen;
  });
  unstable.push(...judgement.unstable);
  return judgement.isGreen;
}

async function run(gate, options, resultFile, isBeside) {
  // One of an earlier run says nothing about this one.
  rmSync(resultFile, { force: true });
  const program = spawn('npm', ['run', '--silent', ...gate.split(' '), ...options], {
    stdio: isBeside ? ['ignore', 'pipe', 'pipe'] : 'inherit',
    env: { ...process.env, VITEST_RESULT_FILE: resultFile },
  });
  let output = '';
  for (const stream of [program.stdout, program.stderr])
    stream?.setEncoding('utf8').on('data', (part) => {
      output += part;
    });
  const [status] = await once(program, 'close');
  return { isGreen: status === 0, output };
}

const begunAtMs = Date.now();
let isGreen = true;
for (const step of steps) isGreen &&= await stepPasses(step);
if (isGreen && Date.now() - begunAtMs < sampleWithinMs) isGreen = await passes(sample, false);
if (!isGreen) process.exitCode = 1;
// So that growth is seen.
console.log(`\n${[...testTimes(resultFolder), ...unstableLines(unstable)].join('\n')}`);
if (givenFolder === undefined) rmSync(resultFolder, { recursive: true });
