import { type ActionFigures, type ActionSizes, measureActions } from './actions.ts';
import { type CommitFigures, type CommitSizes, measureCommit } from './commit.ts';
import { Compare, type CompareSizes, type Comparison, type LateRow, type Nodes } from './compare.ts';
import { type ConsumeFigures, type ConsumeSizes, measureConsume } from './consume.ts';
import type { Servers } from './contenders/arena.ts';
import { type ContenderName, contenderNames } from './contenders/contenders.ts';
import type { Percentiles } from './contenders/protocol.ts';
import { type GrowthRow, type GrowthSizes, measureGrowth } from './growth.ts';
import { type IdleFigures, type IdleSizes, measureIdle } from './idle.ts';
import { type MemoryFigures, type MemorySizes, measureMemory } from './memory.ts';
import { measureOthers, type OthersFigures, type OthersSizes } from './memory-of-others.ts';
import { type MeteredFigures, type MeteredSizes, measureMetered } from './metered.ts';
import { measureSize, type SizeRow, type SizeSizes } from './size.ts';
import { measureSustained, type SustainedFigures, type SustainedSizes } from './sustained.ts';
import { measureSustainedPeer, type SustainedPeerFigures } from './sustained-peer.ts';
import { measureWorkflows, type WorkflowFigures, type WorkflowSizes } from './workflows.ts';
import { measureWrite, type WriteFigures, type WriteSizes } from './write.ts';

export interface Sizes extends CompareSizes {
  readonly consume: ConsumeSizes;
  readonly growth: GrowthSizes;
  readonly write: WriteSizes;
  readonly sustained: SustainedSizes;
  readonly idle: IdleSizes;
  readonly commit: CommitSizes;
  readonly actions: ActionSizes;
  readonly workflows: WorkflowSizes;
  readonly size: SizeSizes;
  readonly memory: MemorySizes & OthersSizes;
  readonly metered: MeteredSizes;
}

/** Enough for figures with a spread of a fifth, in three minutes. */
export const quick: Sizes = {
  rounds: 2,
  slowRounds: 1,
  drained: {
    ours: 80_000,
    bare: 80_000,
    pgBoss: 60_000,
    loop: 1_000,
    graphileWorker: 5_000,
    bullmq: 5_000,
  },
  sweep: false,
  latency: { seconds: 4, rates: [200], of: ['ours', 'bullmq'] },
  due: { count: 10_000, of: ['ours', 'pgBoss'], workflows: false },
  consume: { rounds: 1, batched: 60_000, single: 2_000, remembered: 60_000 },
  growth: {
    bytes: [100, 1_000, 100_000],
    lanes: [1, 4],
    topics: [1, 20],
    backlogs: [20_000, 200_000],
    messages: 60_000,
    megabytes: 60,
  },
  write: { rounds: 4, transactions: 500, batched: 100_000 },
  sustained: { seconds: 60 },
  idle: { topics: 200, warmUpSeconds: 20, busySeconds: 10, quietSeconds: 15, cold: 20 },
  commit: { rounds: 2, seconds: 5, drained: 60_000 },
  actions: { messages: 100_000 },
  workflows: { rounds: 2, count: 200 },
  size: { backlogs: [1_000_000], rounds: 150, pinnedBatches: 20_000 },
  memory: { messages: 100_000, waitSeconds: 5, consumed: 60_000, requests: 600 },
  metered: { rounds: 3, messages: 100_000 },
};

export const full: Sizes = {
  rounds: 5,
  slowRounds: 3,
  drained: {
    ours: 300_000,
    bare: 300_000,
    pgBoss: 300_000,
    loop: 5_000,
    graphileWorker: 15_000,
    bullmq: 15_000,
  },
  sweep: true,
  latency: { seconds: 30, rates: [200, 1_000], of: ['ours', 'bullmq', 'graphileWorker', 'pgBoss'] },
  due: { count: 10_000, of: ['ours', 'pgBoss', 'graphileWorker', 'bullmq'], workflows: true },
  consume: { rounds: 5, batched: 300_000, single: 15_000, remembered: 1_000_000 },
  growth: {
    bytes: [100, 250, 1_000, 10_000, 100_000, 900_000],
    lanes: [1, 2, 4, 8, 16],
    topics: [1, 10, 100, 200],
    backlogs: [10_000, 100_000, 1_000_000],
    messages: 300_000,
    megabytes: 300,
  },
  write: { rounds: 8, transactions: 2_000, batched: 300_000 },
  sustained: { seconds: 180 },
  idle: { topics: 200, warmUpSeconds: 30, busySeconds: 60, quietSeconds: 60, cold: 50 },
  commit: { rounds: 5, seconds: 10, drained: 300_000 },
  actions: { messages: 1_000_000 },
  workflows: { rounds: 3, count: 500 },
  // As many versions as 200 batches a second leave in ten minutes.
  size: { backlogs: [1_000_000, 10_000_000], rounds: 300, pinnedBatches: 120_000 },
  memory: { messages: 1_000_000, waitSeconds: 20, consumed: 300_000, requests: 3_000 },
  metered: { rounds: 8, messages: 300_000 },
};

/** Parts that may be measured alone; the quick form has the first ones. */
export const quickParts = ['drain', 'latency', 'due', 'consume'] as const;
export const parts = [
  ...quickParts,
  'growth',
  'write',
  'sustained',
  'idle',
  'commit',
  'actions',
  'workflows',
  'size',
  'memory',
  'metered',
] as const;
export type Part = (typeof parts)[number];

/** What was found; parts that were not asked for are absent. */
export interface Figures extends Partial<Comparison> {
  /** Messages per second to Kafka: the median of the rounds. */
  readonly drain?: Readonly<Record<ContenderName, number>>;
  /** Ours, from commit to Kafka at 200 messages a second. */
  readonly latencyMs?: Percentiles;
  /** The same when nothing wakes the relay. */
  readonly latencyPolledMs?: Percentiles;
  /** Ours, lateness of those due at one instant, with `timer: 'lane'`. */
  readonly dueTogetherMs?: Percentiles;
  /** Row updates without failures, for what was drained and sent at once. */
  readonly rowUpdates?: number;
  readonly consume?: ConsumeFigures;
  /** How the drain of ours changes with what grows. */
  readonly growth?: readonly GrowthRow[];
  /** What storing costs, and what few messages and none. */
  readonly write?: WriteFigures;
  /** Stored, delivered and archived at once. */
  readonly sustained?: SustainedFigures & { readonly pgBoss: SustainedPeerFigures };
  readonly idle?: IdleFigures;
  /** What a relay costs those who commit, and what PostgreSQL keeps of a message. */
  readonly commit?: CommitFigures;
  /** What Temporal's cloud would bill. */
  readonly actions?: ActionFigures;
  /** Messages with workflows of their own. */
  readonly workflows?: WorkflowFigures;
  /** Claim and settle at any size. */
  readonly size?: readonly SizeRow[];
  readonly memory?: MemoryFigures & { readonly others: OthersFigures };
  /** What metrics cost. */
  readonly metered?: MeteredFigures;
}

export interface Measurement {
  readonly sizes: Sizes;
  readonly nodes: Nodes;
  readonly only: readonly Part[];
  readonly tell: (line: string) => void;
  /** Called after each part with everything that was found so far. */
  readonly found: (figures: Figures) => void;
}

/** Measures the parts in turn. A part that fails leaves the others' figures with `found`. */
export async function measure(
  servers: Servers,
  { nodes, only, sizes, tell, found }: Measurement,
): Promise<Figures> {
  const compare = new Compare(servers, nodes, sizes, tell);
  const { newer } = nodes;
  // In this order: the relay of the first one runs in this process, whose heap is small then, and the last one leaves a million
  // messages behind.
  const measured: Readonly<Record<Part, () => Promise<Figures>>> = {
    idle: async () => ({ idle: await measureIdle(servers, sizes.idle, tell) }),
    drain: async () => drainFigures(await compare.drains()),
    latency: () => latencyFigures(compare, tell),
    due: async () => dueFigures(await compare.due()),
    write: async () => ({ write: await measureWrite(servers, sizes.write, tell) }),
    sustained: async () => ({
      sustained: {
        pgBoss: await measureSustainedPeer(servers, newer, sizes.sustained, tell),
        ...(await measureSustained(servers, sizes.sustained, tell)),
      },
    }),
    growth: async () => ({ growth: await measureGrowth(servers, newer, sizes.growth, tell) }),
    commit: async () => ({ commit: await measureCommit(servers, newer, sizes.commit, tell) }),
    actions: async () => ({ actions: await measureActions(servers, newer, sizes.actions, tell) }),
    workflows: async () => ({ workflows: await measureWorkflows(servers, newer, sizes.workflows, tell) }),
    consume: async () => ({ consume: await measureConsume(servers, sizes.consume, tell) }),
    size: async () => ({ size: await measureSize(servers, sizes.size, tell) }),
    memory: async () => ({
      memory: {
        others: await measureOthers(servers, newer, sizes.memory, tell),
        ...(await measureMemory(servers, newer, sizes.memory, tell)),
      },
    }),
    metered: async () => ({ metered: await measureMetered(servers, newer, sizes.metered, tell) }),
  };
  const figures: Figures = {};
  for (const [part, figuresOf] of Object.entries(measured)) {
    if (!only.some((wanted) => wanted === part)) continue;
    await finishWrites(servers);
    Object.assign(figures, await figuresOf());
    if (part === 'drain' || part === 'latency')
      Object.assign(figures, { rowUpdates: await countRowUpdates(servers) });
    found(figures);
  }
  return figures;
}

/** What earlier parts left to vacuum and to write, so that it is not done during the next one. */
async function finishWrites({ database }: Servers): Promise<void> {
  await database.query('vacuum (analyze)');
  await database.query('checkpoint');
}

type Drains = Pick<Comparison, 'drains' | 'swept'>;

function drainFigures({ drains, swept }: Drains): Drains & Required<Pick<Figures, 'drain'>> {
  const rate = (name: ContenderName): number =>
    // The first row of a name is the contender as its library is.
    drains.find((row) => row.name === name && row.node === 'newer')?.perSecond.median ?? 0;
  const rates = Object.fromEntries(contenderNames.map((name) => [name, rate(name)]));
  return { drain: rates as Record<ContenderName, number>, drains, swept };
}

async function latencyFigures(
  compare: Compare,
  tell: (line: string) => void,
): Promise<Pick<Figures, 'latency' | 'latencyMs' | 'latencyPolledMs'>> {
  const latency = await compare.latency();
  const latencyPolledMs = await compare.polled();
  tell(`commit to Kafka, polled: p50 ${latencyPolledMs.p50} ms, p99 ${latencyPolledMs.p99} ms`);
  return { latencyMs: oursOf(latency), latencyPolledMs, latency };
}

function dueFigures(due: readonly LateRow[]): Pick<Figures, 'due' | 'dueTogetherMs'> {
  return { dueTogetherMs: oursOf(due), due };
}

/** Ours comes first with its usual setting. */
function oursOf(rows: readonly { readonly name: ContenderName; readonly ms: Percentiles }[]): Percentiles {
  const row = rows.find(({ name }) => name === 'ours');
  if (row === undefined) throw new Error('Ours was not measured.');
  return row.ms;
}

/** A session reports its statistics with a delay, and at its end; the sessions of the relays have ended by now. */
async function countRowUpdates({ database }: Servers): Promise<number> {
  await database.query('select pg_stat_force_next_flush()');
  const [row] = await database.query<{ updates: string }>(
    `select sum(n_tup_upd) as updates from pg_stat_user_tables where schemaname = 'outbox' and relname ~ '^(message|log_[0-9]+)$'`,
  );
  return Number(row?.updates ?? 0);
}
