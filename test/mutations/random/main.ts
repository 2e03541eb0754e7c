import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { stdout } from 'node:process';
import { parseArgs } from 'node:util';
import { runCovering } from '../run-tests.ts';
import { makeScratch } from '../scratch.ts';
import { startServers } from '../servers.ts';
import { draw } from './draw.ts';
import { readExecuted, unnotedUnitTests } from './executed.ts';
import { mutantsIn } from './places.ts';
import { reportOf, told } from './tables.ts';
import { tryMutants } from './try-mutants.ts';

const usage =
  'npm run test:mutations -- --random n [--seed s] [--folder src/relay]… [--unit] [--cover part of a path]… [--minutes n] [--json]';

/** Where the folders of the product are that a sample is drawn from, if none is named. */
const everything = [
  'src/core',
  'src/store',
  'src/relay',
  'src/inbox',
  'src/transports',
  'src/sources',
  'outbox.',
];

/** Projects of vitest whose tests need servers, and take seconds. */
const withServers = ['integration', 'contract', 'transports-*'];

/** Plants bugs that rules make at random places. Survivors are reported, not failures: a sample is not a gate. */
export async function randomMain(root: string, args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      random: { type: 'string', default: '0' },
      seed: { type: 'string', default: String(randomInt(1_000_000)) },
      folder: { type: 'string', multiple: true, default: everything },
      unit: { type: 'boolean', default: false },
      cover: { type: 'string', multiple: true, default: [] },
      minutes: { type: 'string', default: '600' },
      json: { type: 'boolean', default: false },
    },
  });
  const { seed, unit } = values;
  const count = Number(values.random);
  const minutes = Number(values.minutes);
  if (!(count >= 0) || !(minutes > 0)) {
    stdout.write(`${usage}\n`);
    return 2;
  }
  const tell = values.json ? () => undefined : (line: string) => void stdout.write(`${line}\n`);
  const { servers, stop } = unit ? { servers: {}, stop: undefined } : await startServers(root);
  const scratch = makeScratch(root);
  process.once('exit', () => scratch.remove());
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  try {
    const executed = join(root, 'node_modules/.cache/temporal-outbox/executed');
    const unnoted = unnotedUnitTests(root, executed);
    if (unnoted.length > 0)
      await runCovering(root, executed, { projects: ['unit'], words: unnoted }, servers);
    if (values.cover.length > 0)
      await runCovering(root, executed, { projects: withServers, words: values.cover }, servers);
    const mutants = draw(mutantsIn(root, values.folder), seed);
    tell(`${mutants.length} places, seed ${seed}`);
    const tried = await tryMutants(mutants, {
      root: scratch.root,
      servers,
      executed: readExecuted(scratch.root, executed),
      unitOnly: unit,
      count,
      // What the tests execute is stored, so it costs the first sample only.
      deadline: performance.now() + minutes * 60_000,
      tell: (one) => tell(told(one)),
    });
    if (values.json) stdout.write(`${JSON.stringify({ seed, mutants: tried }, undefined, 2)}\n`);
    else tell(reportOf(tried, seed));
    return 0;
  } finally {
    scratch.remove();
    await stop?.();
  }
}
