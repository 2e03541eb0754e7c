import { setTimeout as delay } from 'node:timers/promises';
import type { WorkflowStarter } from '../../src/relay/ports.ts';
import { Relay } from '../../src/relay/relay.ts';
import type { RelayEvent } from '../../src/relay/report.ts';
import {
  type BatchLimits,
  defaultBatchLimits,
  defaultTimings,
  type RelayTimings,
} from '../../src/relay/timings.ts';
import type { Database } from '../../src/store/database.ts';
import { readInstallation } from '../../src/store/installation.ts';
import { type BulkRunner, createBulkRunner } from '../../src/relay/bulk.ts';
import { withdrawIds } from '../../src/operations/withdraw.ts';
import type { BulkStart } from '../../src/store/bulk-starts.ts';
import type { LaneStart, MessageStart } from '../../src/store/starts.ts';
import type { LaneBench } from './lane-bench.ts';

/** Workflows without a workflow engine: what `deliverLane` and `deliverMessage` do, in this process. */
class InProcessWorkflows implements WorkflowStarter {
  readonly laneStarts: LaneStart[] = [];
  readonly messageStarts: MessageStart[] = [];
  readonly bulkStarts: BulkStart[] = [];
  /** False: starts are noted and nothing runs, as when Temporal is away. */
  running = true;
  relay: Relay | undefined;
  bulk: BulkRunner | undefined;
  readonly #stopping = new AbortController();
  readonly #runs = new Map<string, { readonly done: Promise<unknown>; readonly stop: AbortController }>();

  async startLane(start: LaneStart): Promise<void> {
    this.laneStarts.push(start);
    await this.#start(start.workflowId, start.replace, async (signal) => {
      while (!signal.aborted && (await this.relay?.drain(start, signal, () => undefined)) === 'more');
    });
  }

  /** Nobody ends workflows by force here; that is tested with Temporal. */
  terminatedMessages(): Promise<readonly string[]> {
    return Promise.resolve([]);
  }

  async startMessage(start: MessageStart): Promise<void> {
    this.messageStarts.push(start);
    await this.#start(start.workflowId, start.replace, async (signal) => {
      let pauseMs = start.dueInMs;
      while (!signal.aborted) {
        await delay(pauseMs, undefined, { signal });
        const answer = await this.relay?.release(start.id);
        if (answer === undefined || answer.kind === 'done' || answer.kind === 'unknown') return;
        pauseMs = answer.kind === 'waiting' ? answer.dueInMs : 200;
      }
    });
  }

  async startBulk(start: BulkStart): Promise<void> {
    this.bulkStarts.push(start);
    await this.#start(start.workflowId, start.replace, async (signal) => {
      while (!signal.aborted) {
        const answer = await this.bulk?.runPage(start.id, () => undefined);
        if (answer === undefined || answer.kind === 'ended') return;
        await delay(answer.kind === 'more' ? answer.waitMs : 1_000, undefined, { signal });
      }
    });
  }

  /** Ends everything that runs, and waits for it. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([...this.#runs.values()].map(({ done }) => done));
  }

  async #start(id: string, replace: boolean, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const before = this.#runs.get(id);
    if (!this.running || this.#stopping.signal.aborted || (before !== undefined && !replace)) return;
    before?.stop.abort();
    const stop = new AbortController();
    const done = work(AbortSignal.any([stop.signal, this.#stopping.signal]))
      .catch(() => undefined)
      .finally(() => {
        if (this.#runs.get(id)?.stop === stop) this.#runs.delete(id);
      });
    this.#runs.set(id, { done, stop });
  }
}

/** A whole relay (watcher, starter, drains) on the database and broker of a bench. */
export interface TestRelay {
  readonly relay: Relay;
  readonly workflows: InProcessWorkflows;
  readonly events: RelayEvent[];
  stop(): Promise<void>;
}

/** Starts a relay. Its lanes linger for 200 ms, everything else has the times of production. */
export async function startTestRelay(
  bench: LaneBench,
  options: {
    readonly timings?: Partial<RelayTimings>;
    readonly limits?: Partial<BatchLimits>;
    readonly database?: Database;
    readonly running?: boolean;
  } = {},
): Promise<TestRelay> {
  const events: RelayEvent[] = [];
  const workflows = new InProcessWorkflows();
  workflows.running = options.running ?? true;
  const relay = new Relay({
    database: options.database ?? bench.database,
    installation: await readInstallation(bench.database),
    routes: [{ name: bench.topic, rules: bench.rules, transport: bench.broker }],
    workflows,
    timings: { ...defaultTimings, lingerMs: 200, ...options.timings },
    limits: { ...defaultBatchLimits, ...options.limits },
    report: (event) => events.push(event),
  });
  workflows.relay = relay;
  const database = options.database ?? bench.database;
  workflows.bulk = createBulkRunner({
    database,
    withdraw: (ids, author, narrow) => withdrawIds(database, ids, author, { narrow }),
    report: (event) => events.push(event),
  });
  await relay.open();
  relay.start();
  return {
    relay,
    workflows,
    events,
    stop: async () => {
      await relay.stop();
      await workflows.stop();
      await relay.close();
    },
  };
}
