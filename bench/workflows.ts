import { setTimeout as delay } from 'node:timers/promises';
import { Client } from '@temporalio/client';
import { connectTemporal } from '../src/brokers/workflow/client/connection.ts';
import { quietRuntime } from '../src/brokers/workflow/client/runtime.ts';
import { type Servers, withContender } from './contenders/arena.ts';
import { programOf } from './contenders/contenders.ts';
import { overall } from './workload.ts';

export interface WorkflowSizes {
  readonly rounds: number;
  /** Workflows of a round, ours and bare ones. */
  readonly count: number;
}

/** Workflows per second. */
export interface WorkflowRates {
  /** From the first that is to be started until all have started. */
  readonly started: number;
  /** From the instant at which all are due until the last has ended. */
  readonly ended: number;
  /** Over both times together, without the sleep in between. */
  readonly whole: number;
}

export interface WorkflowFigures {
  readonly count: number;
  /** Messages with a workflow of their own: it sleeps, releases its message and ends with the outcome. */
  readonly ours: WorkflowRates;
  /** Workflows that sleep and run one activity. */
  readonly bare: WorkflowRates;
}

type Who = 'ours' | 'bare';

const programs: Readonly<Record<Who, readonly string[]>> = {
  ours: programOf('ours'),
  bare: [programOf('ours')[0]?.replace('ours-main', 'bare-workflows-main') ?? ''],
};
const types: Readonly<Record<Who, string>> = { ours: 'deliverMessage', bare: 'bareWorkflow' };
/** The slowest that was seen is a third faster; all must have started when they are due. */
const startedPerSecondAtLeast = 25;
const endsWithinMs = 300_000;
const lookEveryMs = 1_000;

/** Messages with workflows of their own beside workflows that do the least, with the same worker, on the same server. */
export async function measureWorkflows(
  servers: Servers,
  node: string,
  { count, rounds }: WorkflowSizes,
  tell: (line: string) => void,
): Promise<WorkflowFigures> {
  // Otherwise Temporal's runtime would keep the benchmark running after a SIGTERM.
  quietRuntime();
  const link = await connectTemporal({ address: servers.temporalAddress, namespace: 'default' });
  const client = new Client({ connection: link.connection });
  const measured: Record<Who, WorkflowRates[]> = { ours: [], bare: [] };
  try {
    for (let round = 1; round <= rounds; round += 1)
      for (const who of round % 2 === 1 ? (['bare', 'ours'] as const) : (['ours', 'bare'] as const)) {
        const rates = await runOnce({ servers, node, client }, who, count);
        measured[who].push(rates);
        const { ended, started, whole } = rates;
        tell(`${count} workflows, ${who}: ${whole}/s, started at ${started}/s, ended at ${ended}/s`);
      }
  } finally {
    await link.close();
  }
  return { count, ours: overallOf(measured.ours), bare: overallOf(measured.bare) };
}

function overallOf(rounds: readonly WorkflowRates[]): WorkflowRates {
  const of = (what: keyof WorkflowRates): number => overall(rounds.map((rates) => rates[what]));
  return { started: of('started'), ended: of('ended'), whole: of('whole') };
}

interface Setup {
  readonly servers: Servers;
  readonly node: string;
  readonly client: Client;
}

async function runOnce({ client, node, servers }: Setup, who: Who, count: number): Promise<WorkflowRates> {
  const setting = { lanes: 2, timer: 'workflow' };
  const entry = { name: 'ours' as const, node, setting, program: programs[who] };
  return withContender(servers, entry, { noting: false }, async (contender, topic) => {
    await contender.ask('start', null);
    const beganAtMs = Date.now();
    const dueAtMs = beganAtMs + Math.max(5_000, (count * 1_000) / startedPerSecondAtLeast);
    await contender.ask('fill', { count, dueAtMs });
    const query = `WorkflowType = "${types[who]}" AND StartTime >= "${new Date(beganAtMs).toISOString()}"`;
    const { closes, starts } = await timesOf(client, query, count);
    await contender.stop();
    if (who === 'ours') await servers.arrivals.read(topic, count);
    return workflowRates({ beganAtMs, dueAtMs, starts, closes });
  });
}

interface Times {
  /** In ms since 1970, of each workflow. */
  readonly starts: readonly number[];
  readonly closes: readonly number[];
}

/** Of the workflows, once `count` of them have ended. */
async function timesOf(client: Client, query: string, count: number): Promise<Times> {
  const until = performance.now() + endsWithinMs;
  while ((await client.workflow.count(`${query} AND ExecutionStatus = "Completed"`)).count < count) {
    if (performance.now() > until) throw new Error(`${count} workflows have not ended in time.`);
    await delay(lookEveryMs);
  }
  const starts: number[] = [];
  const closes: number[] = [];
  for await (const { closeTime, startTime } of client.workflow.list({ query, pageSize: 1_000 })) {
    starts.push(startTime.getTime());
    if (closeTime !== undefined) closes.push(closeTime.getTime());
  }
  if (starts.length !== count || closes.length !== count)
    throw new Error(`${starts.length} workflows started and ${closes.length} ended, not ${count}.`);
  return { starts, closes };
}

/** @throws Error if a workflow ended early, or started late: then it did not sleep */
export function workflowRates({
  beganAtMs,
  closes,
  dueAtMs,
  starts,
}: Times & { readonly beganAtMs: number; readonly dueAtMs: number }): WorkflowRates {
  const lastStart = Math.max(...starts);
  if (lastStart >= dueAtMs) throw new Error('Workflows started after they were due: more time is needed.');
  if (Math.min(...closes) < dueAtMs) throw new Error('A workflow ended before it was due.');
  const startMs = lastStart - beganAtMs;
  const endMs = Math.max(...closes) - dueAtMs;
  const rate = (ms: number): number => Math.round((starts.length * 10_000) / ms) / 10;
  return { started: rate(startMs), ended: rate(endMs), whole: rate(startMs + endMs) };
}
