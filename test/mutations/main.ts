import { resolve } from 'node:path';
import { stdout } from 'node:process';
import { parseArgs } from 'node:util';
import { choose } from './choose.ts';
import { mutations } from './list.ts';
import type { Mutation } from './mutation.ts';
import { graft, plant } from './plant.ts';
import { randomMain } from './random/main.ts';
import { projectOf, tryTests } from './run-tests.ts';
import { headOf, makeScratch, type Scratch } from './scratch.ts';
import { startServers } from './servers.ts';
import type { Verdict } from './verdict.ts';

const root = resolve(import.meta.dirname, '..', '..');

const usage = `npm run test:mutations -- [--only part of a name] [--promise I5] [--rotate n] [--json]`;

interface Judged extends Verdict {
  readonly name: string;
  readonly promise: string;
  readonly test: string;
  readonly seconds: number;
}

/** Plants what the arguments choose, one after the other, and answers the exit code: 1 unless each was caught by an expectation. */
export async function main(args: readonly string[]): Promise<number> {
  if (args.some((arg) => /^--(?:random|cover)\b/.test(arg))) return randomMain(root, args);
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      promise: { type: 'string' },
      rotate: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  const seed = headOf(root);
  const rotate = values.rotate === undefined ? undefined : { count: Number(values.rotate), seed };
  const chosen = choose(mutations, { ...values, rotate });
  const tell = values.json ? () => undefined : (line: string) => void stdout.write(`${line}\n`);
  if (chosen.length === 0 || (rotate !== undefined && !(rotate.count >= 1))) {
    stdout.write(`No bug of the list was chosen.\n${usage}\n`);
    return 2;
  }
  tell(
    rotate === undefined
      ? `${chosen.length} of ${mutations.length} bugs`
      : `${chosen.length} of ${mutations.length} bugs, by the commit ${seed.slice(0, 12)}`,
  );
  const judged = await plantAll(chosen, tell);
  if (values.json) stdout.write(`${JSON.stringify({ seed, mutations: judged }, undefined, 2)}\n`);
  else summarize(judged, tell);
  return judged.every(({ kind }) => kind === 'caught') ? 0 : 1;
}

async function plantAll(
  chosen: readonly Mutation[],
  tell: (line: string) => void,
): Promise<readonly Judged[]> {
  const started = chosen.some(({ test }) => projectOf(test) !== 'unit')
    ? await startServers(root)
    : undefined;
  const scratch = makeScratch(root);
  process.once('exit', () => scratch.remove());
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  try {
    const judged: Judged[] = [];
    for (const mutation of chosen) {
      const startedAt = performance.now();
      const verdict = await tryOne(scratch, mutation, started?.servers ?? {});
      const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
      judged.push({
        name: mutation.name,
        ...verdict,
        seconds,
        promise: mutation.promise,
        test: mutation.test,
      });
      const count = `${judged.length}/${chosen.length}`.padStart(7);
      tell(
        `${count} ${word(verdict.kind).padEnd(8)} ${mutation.name.padEnd(46)} ${seconds.toFixed(1).padStart(6)} s`,
      );
      tell(`${' '.repeat(17)}${fitting(verdict.said, 62)}`);
    }
    return judged;
  } finally {
    scratch.remove();
    await started?.stop();
  }
}

async function tryOne(
  scratch: Scratch,
  mutation: Mutation,
  servers: Readonly<Record<string, string>>,
): Promise<Verdict> {
  const planted = graft(scratch.root, mutation);
  if (typeof planted === 'string') return { kind: 'stale', said: planted };
  const built = mutation.built === true;
  const undo = plant(scratch.root, planted, built);
  try {
    return await tryTests(scratch.root, mutation, servers);
  } finally {
    undo();
    if (built) scratch.restoreBuilt();
  }
}

function summarize(judged: readonly Judged[], tell: (line: string) => void): void {
  const of = (kind: Verdict['kind']) => judged.filter((one) => one.kind === kind);
  const counts = [
    `${of('caught').length} caught`,
    `${of('timed out').length} only out of time`,
    `${of('survived').length} survived`,
    `${of('stale').length + of('broken').length} no longer fit`,
  ];
  tell(`\n${counts.join(', ')}`);
  for (const { kind, name, test } of judged.filter((one) => one.kind !== 'caught')) {
    tell(`  ${word(kind)}: ${name}\n    ${test}`);
  }
}

/** In capitals what makes the run red. */
function word(kind: Verdict['kind']): string {
  switch (kind) {
    case 'caught':
      return 'caught';
    case 'timed out':
      return 'TIME-OUT';
    case 'survived':
    case 'stale':
    case 'broken':
      return kind.toUpperCase();
  }
}

function fitting(text: string, columns: number): string {
  return text.length > columns ? `${text.slice(0, columns - 1)}…` : text;
}
