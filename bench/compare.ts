import { commitToKafka, type DrainFigures, drain, dueTogether, type Servers } from './contenders/arena.ts';
import { type ContenderName, contenders, type Variant, variants } from './contenders/contenders.ts';
import type { Percentiles, Setting } from './contenders/protocol.ts';
import { inTurn, warmUp } from './warm-up.ts';
import { warmUpMessages } from './workload.ts';

/** How much is compared. */
export interface CompareSizes {
  /** Counted rounds; in each every contender runs once, and each begins with another one. */
  readonly rounds: number;
  /** Messages of a drain. */
  readonly drained: Readonly<Record<ContenderName, number>>;
  /** Rounds of those that send one by one: their figures are far off and vary little. */
  readonly slowRounds: number;
  /** Whether every setting of a contender is tried first, or the best that is known is taken. */
  readonly sweep: boolean;
  readonly latency: {
    readonly seconds: number;
    readonly rates: readonly number[];
    readonly of: readonly ContenderName[];
  };
  readonly due: {
    readonly count: number;
    readonly of: readonly ContenderName[];
    readonly workflows: boolean;
  };
}

/** Programs of Node. */
export interface Nodes {
  /** For all contenders. */
  readonly newer: string;
  /** The one that runs the benchmark, which the product supports as well. */
  readonly own: string;
}

/** Of several rounds. */
export interface Rounds {
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
  readonly rounds: readonly number[];
}

/** A contender's drains with one setting. */
export interface DrainRow {
  readonly name: ContenderName;
  readonly label: string;
  readonly setting: Setting;
  readonly node: keyof Nodes;
  /** Messages of each drain, a quarter of them the warm-up. */
  readonly messages: number;
  readonly perSecond: Rounds;
  readonly nodeUsPerMessage: Rounds;
  readonly serverUsPerMessage: Readonly<Record<string, number>>;
}

/** A row of lateness: from the commit at a rate, or of messages that are due at once. */
export interface LateRow {
  readonly name: ContenderName;
  readonly label: string;
  readonly ms: Percentiles;
}

export interface Comparison {
  /** The best setting of each, over all rounds. */
  readonly drains: readonly DrainRow[];
  /** What the sweep tried, a round each; empty without one. */
  readonly swept: readonly DrainRow[];
  readonly latency: readonly (LateRow & { readonly perSecond: number })[];
  readonly due: readonly LateRow[];
}

type Tell = (line: string) => void;

interface Runner {
  readonly name: ContenderName;
  readonly label: string;
  readonly setting: Setting;
  readonly node: keyof Nodes;
}

const slow = new Set<ContenderName>(['loop', 'graphileWorker', 'bullmq']);

/** Runs the contenders one after the other, in turns, so that a slow minute of the machine touches all of them. */
export class Compare {
  readonly #servers: Servers;
  readonly #nodes: Nodes;
  readonly #sizes: CompareSizes;
  readonly #tell: Tell;

  constructor(servers: Servers, nodes: Nodes, sizes: CompareSizes, tell: Tell) {
    this.#servers = servers;
    this.#nodes = nodes;
    this.#sizes = sizes;
    this.#tell = tell;
  }

  async drains(): Promise<Pick<Comparison, 'drains' | 'swept'>> {
    const warming = { ...known('ours'), node: 'newer' } as const;
    await warmUp(() => this.#drain(warming, this.#sizes.drained.ours));
    await this.#drain({ ...known('pgBoss'), node: 'newer' }, warmUpMessages);
    const swept = this.#sizes.sweep ? await this.#rounds(variants.flatMap(runnersOf), 1) : [];
    const best = variants.flatMap((variant) => bestOf(swept, variant) ?? runnersOf(variant).slice(0, 1));
    const drains = await this.#rounds(best, this.#sizes.rounds);
    // Beside the first row, not in its place.
    const own = await this.#rounds([{ ...known('ours'), node: 'own' }], this.#sizes.slowRounds);
    return { swept, drains: [...drains, ...own] };
  }

  async latency(): Promise<Comparison['latency']> {
    const rows: Comparison['latency'][number][] = [];
    const { of, rates, seconds } = this.#sizes.latency;
    const measured = (name: ContenderName, perSecond: number): Promise<Percentiles> => {
      const setting = contenders[name].few ?? known(name).setting;
      const entry = { name, setting, node: this.#nodes.newer };
      return commitToKafka(this.#servers, entry, { perSecond, seconds, warmUpSeconds: 2 });
    };
    // What Kafka compiles while it runs hot takes a core for half a minute, for which the first contender would pay.
    await measured('ours', Math.max(...rates));
    for (const perSecond of rates)
      for (const name of of) {
        const ms = await measured(name, perSecond);
        rows.push({ name, label: contenders[name].label, perSecond, ms });
        this.#tell(`commit to Kafka at ${perSecond}/s, ${name}: p50 ${ms.p50} ms, p99 ${ms.p99} ms`);
      }
    return rows;
  }

  /** Ours when nothing wakes the relay after a commit. */
  async polled(): Promise<Percentiles> {
    const setting = { ...contenders.ours.few, nudged: 0 };
    const entry = { name: 'ours' as const, setting, node: this.#nodes.newer };
    const { seconds } = this.#sizes.latency;
    return commitToKafka(this.#servers, entry, { perSecond: 200, seconds, warmUpSeconds: 2 });
  }

  async due(): Promise<readonly LateRow[]> {
    const rows: LateRow[] = [];
    const { count, of, workflows } = this.#sizes.due;
    const add = async (name: ContenderName, label: string, setting: Setting): Promise<void> => {
      const ms = await dueTogether(this.#servers, { name, setting, node: this.#nodes.newer }, count);
      rows.push({ name, label, ms });
      this.#tell(`${count} due at one instant, ${label}: p50 ${ms.p50} ms, p99 ${ms.p99} ms late`);
    };
    for (const name of of) {
      const { label } = contenders[name];
      await add(name, name === 'ours' ? `${label}, timer: 'lane'` : label, known(name).setting);
      if (name === 'ours' && workflows)
        await add(name, `${label}, own workflows`, { ...known(name).setting, timer: 'workflow' });
    }
    return rows;
  }

  async #rounds(runners: readonly Runner[], rounds: number): Promise<readonly DrainRow[]> {
    const figures = new Map<Runner, DrainFigures[]>(runners.map((runner) => [runner, []]));
    for (let round = 1; round <= rounds; round += 1)
      for (const [runner, done] of inTurn([...figures], round))
        if (!slow.has(runner.name) || round <= this.#sizes.slowRounds)
          done.push(await this.#drain(runner, this.#sizes.drained[runner.name]));
    return [...figures].map(([runner, done]) => rowOf(runner, done, this.#sizes.drained[runner.name]));
  }

  async #drain({ name, node, setting }: Runner, count: number): Promise<DrainFigures> {
    const figures = await drain(this.#servers, { name, setting, node: this.#nodes[node] }, count);
    const { nodeUsPerMessage, perSecond } = figures;
    const how = `${name} ${JSON.stringify(setting)}${node === 'own' ? ' on the older Node' : ''}`;
    this.#tell(`drain of ${count}, ${how}: ${perSecond}/s, ${nodeUsPerMessage} µs of node a message`);
    return figures;
  }
}

/** The best setting that is known. */
function known(name: ContenderName): Pick<Runner, 'name' | 'label' | 'setting'> {
  const { label, settings } = contenders[name];
  return { name, label, setting: settings[0] ?? {} };
}

function runnersOf({ label, name, settings }: Variant): readonly Runner[] {
  return settings.map((setting) => ({ name, label, setting, node: 'newer' }));
}

function bestOf(rows: readonly DrainRow[], { label }: Variant): Runner | undefined {
  return rows
    .filter((row) => row.label === label)
    .toSorted((a, b) => b.perSecond.median - a.perSecond.median)[0];
}

function rowOf(
  { label, name, node, setting }: Runner,
  done: readonly DrainFigures[],
  messages: number,
): DrainRow {
  const servers = new Set(done.flatMap(({ serverUsPerMessage }) => Object.keys(serverUsPerMessage)));
  const ofServer = (server: string): number =>
    roundsOf(done.map(({ serverUsPerMessage }) => serverUsPerMessage[server] ?? 0)).median;
  return {
    name,
    label,
    setting,
    node,
    messages,
    perSecond: roundsOf(done.map(({ perSecond }) => perSecond)),
    nodeUsPerMessage: roundsOf(done.map(({ nodeUsPerMessage }) => nodeUsPerMessage)),
    serverUsPerMessage: Object.fromEntries([...servers].map((server) => [server, ofServer(server)])),
  };
}

/** The median of an even number is the lower of the two in the middle: a value that was measured. */
function roundsOf(values: readonly number[]): Rounds {
  const sorted = values.toSorted((a, b) => a - b);
  return {
    median: sorted[Math.floor((sorted.length - 1) / 2)] ?? 0,
    lowest: sorted[0] ?? 0,
    highest: sorted.at(-1) ?? 0,
    rounds: values,
  };
}
