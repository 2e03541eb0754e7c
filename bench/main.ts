import { parseArgs } from 'node:util';
import { installPeers, newerNodeProgram, openStand } from './contenders/prepare.ts';
import { type Figures, full, measure, parts, quick, quickParts } from './measure.ts';
import { surroundingsOf } from './report/surroundings.ts';
import { tables } from './report/tables.ts';
import { writeResults } from './report/write-results.ts';
import { benchTransports, showTransports } from './transports/main.ts';

const { values: flags, positionals } = parseArgs({
  options: {
    quick: { type: 'boolean' },
    json: { type: 'boolean' },
    /** Of the files in `bench/results`. */
    name: { type: 'string' },
    /** One part of the benchmark, or one transport. */
    only: { type: 'string' },
    /** How long the part `sustained` goes on. */
    minutes: { type: 'string' },
  },
  allowPositionals: true,
});

const minutes = flags.minutes === undefined ? undefined : Number(flags.minutes);
if (minutes !== undefined && !(minutes > 0)) throw new Error('--minutes needs a number above 0.');

/** Progress goes to standard error, so that the last line of standard output is the result. */
function tell(line: string): void {
  process.stderr.write(`${line}\n`);
}

async function transports(): Promise<void> {
  const sizes = flags.quick ? { rounds: 3, messages: 20_000 } : { rounds: 5, messages: 100_000 };
  const figures = await benchTransports(flags.only, { ...sizes, tell });
  process.stdout.write(`${flags.json ? JSON.stringify(figures) : showTransports(figures)}\n`);
}

async function outbox(): Promise<void> {
  const usual = flags.quick ? quickParts : parts;
  const only = flags.only === undefined ? usual : parts.filter((part) => part === flags.only);
  if (only.length === 0)
    throw new Error(`There is no part "${String(flags.only)}", only ${parts.join(', ')}.`);
  installPeers(tell);
  const newer = await newerNodeProgram(tell);
  const stand = await openStand(tell);
  try {
    const surroundings = await surroundingsOf(stand.servers);
    const nodes = { newer, own: process.execPath };
    const usualSizes = flags.quick ? quick : full;
    const sizes =
      minutes === undefined ? usualSizes : { ...usualSizes, sustained: { seconds: minutes * 60 } };
    const name = flags.name ?? surroundings.measuredAt.replaceAll(':', '-').replace(/\..*/, '');
    let page = '';
    const found = (figures: Figures): void => {
      page = writeResults(name, figures, surroundings);
    };
    const figures = await measure(stand.servers, { sizes, nodes, only, tell, found });
    tell(page);
    process.stdout.write(
      `${flags.json ? JSON.stringify({ ...figures, ...surroundings }) : tables(figures, surroundings)}\n`,
    );
  } finally {
    await stand.close();
  }
}

if (positionals[0] === 'transports') await transports();
else await outbox();
