// A program that starts PostgreSQL, or all servers, and then waits; tests kill it in different ways.
import { once } from 'node:events';
import pg from 'pg';
import {
  type LocalNode,
  type LocalServers,
  startPostgres,
  startTogether,
} from '../../../dev/servers/index.ts';

// With this argument it has work to finish at SIGINT, for which it needs its servers; exit code 3: they were available.
if (process.argv[2] === 'finishes-work') {
  process.once('SIGINT', () => void end(finishWork().catch(() => 4)));
}

const options = { env: process.env, durable: false };
const all: LocalServers | undefined = process.argv[2] === 'all' ? await startTogether(options) : undefined;
const postgres = all?.postgres ?? (await startPostgres(options));
const started = [postgres.node, all?.temporal.node, ...(all?.kafka.nodes ?? [])];
const nodes = started.filter((node): node is LocalNode => node !== undefined);

process.stdout.write(`${JSON.stringify({ pids: nodes.map(({ pid }) => pid) })}\n`);
process.stdin.resume();
await once(process.stdin, 'end');
await end(Promise.resolve(0));

/** The servers keep this process alive; tests observe how it exits while they run. */
async function end(code: Promise<number>): Promise<void> {
  // oxlint-disable-next-line unicorn/no-process-exit -- an end that leaves nothing time to stop by itself is the point
  process.exit(await code);
}

async function finishWork(): Promise<number> {
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  await client.query('select 1');
  await client.end();
  await postgres.stop();
  return 3;
}
