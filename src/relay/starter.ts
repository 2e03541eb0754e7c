import { forgetBulkTold, wantedBulks } from '../store/bulk/starts.ts';
import type { Database } from '../store/database/database.ts';
import {
  forgetTold,
  type LaneStart,
  type MessageStart,
  markTold,
  untoldMessages,
  wantedLanes,
} from '../store/lane/starts.ts';
import { coalesce } from './coalesce.ts';
import type { WorkflowStarter } from './ports.ts';
import type { Report } from './report.ts';

/** Messages per read, and concurrent starts. */
const messagesPerRound = 200;
const concurrentStarts = 20;
/** Between searches for lanes whose owner has died: at least this long, and this multiple of the last search's duration. */
const orphansEveryMs = 200;
const orphansPause = 10;
/** Between searches for terminated workflows. */
const terminatedEveryMs = 5_000;

/**
 * Ensures that the workflow runs of every lane with work, and of every waiting message within its horizon.
 *
 * Level-triggered: it looks at the current rows, so a start that fails or is lost is repeated. Any number of starters may
 * run.
 */
export class Starter {
  readonly #database: Database;
  readonly #workflows: WorkflowStarter;
  readonly #topics: readonly string[];
  readonly #report: Report;
  readonly #stopping = new AbortController();
  #terminatedAskedAt = Number.NEGATIVE_INFINITY;
  #orphansAskableAt = Number.NEGATIVE_INFINITY;

  /** @param topics the topics whose lanes this relay can drain; it starts no others */
  constructor(database: Database, workflows: WorkflowStarter, topics: readonly string[], report: Report) {
    this.#database = database;
    this.#topics = topics;
    this.#workflows = workflows;
    this.#report = report;
  }

  /** Starts the lanes that have work and no owner. */
  readonly startLanes = coalesce(() => this.#guard('start-lanes', () => this.#lanesOnce()));

  /** Starts the lanes that have work and whose owner has died. Searches a few times a second, however often it is called. */
  readonly startOrphans = coalesce(() => this.#guard('start-lanes', () => this.#orphansOnce()));

  /** Starts the workflows of waiting messages, until none is left. */
  readonly startMessages = coalesce(() =>
    this.#guard('start-messages', () => this.#allMessages(this.#stopping.signal)),
  );

  /**
   * Restarts terminated workflows of messages that still wait. Searches every few seconds, however often it is called.
   * Delivery does not depend on it: the sweep releases what is overdue.
   */
  readonly restartTerminated = coalesce(() => this.#guard('start-messages', () => this.#terminatedOnce()));

  /** Starts the workflows of running bulk operations on outbox messages that have none. */
  readonly startBulks = coalesce(() => this.#guard('start-bulk', () => this.#bulksOnce()));

  /** Starts nothing new, and waits for the current starts. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([
      this.startLanes(),
      this.startOrphans(),
      this.startMessages(),
      this.restartTerminated(),
      this.startBulks(),
    ]);
  }

  async #bulksOnce(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    for (const bulk of await wantedBulks(this.#database, null)) {
      try {
        await this.#workflows.startBulk(bulk);
        this.#report({ type: 'bulk-started', id: bulk.id });
      } catch (error) {
        this.#report({ type: 'error', during: 'start-bulk', error });
        await forgetBulkTold(this.#database, bulk);
      }
    }
  }

  async #terminatedOnce(): Promise<void> {
    const now = performance.now();
    if (this.#stopping.signal.aborted || now - this.#terminatedAskedAt < terminatedEveryMs) return;
    this.#terminatedAskedAt = now;
    const ids = await this.#workflows.terminatedMessages();
    if (ids.length > 0) await forgetTold(this.#database, ids);
  }

  async #lanesOnce(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    await this.#start(await wantedLanes(this.#database, this.#topics));
  }

  /** While an old snapshot keeps dead versions of the lane rows, each search reads them all and is slow. */
  async #orphansOnce(): Promise<void> {
    const askedAt = performance.now();
    if (this.#stopping.signal.aborted || askedAt < this.#orphansAskableAt) return;
    const orphans = await wantedLanes(this.#database, this.#topics, { orphans: true });
    const answeredAt = performance.now();
    this.#orphansAskableAt = Math.max(
      askedAt + orphansEveryMs,
      answeredAt + orphansPause * (answeredAt - askedAt),
    );
    await this.#start(orphans);
  }

  async #start(lanes: readonly LaneStart[]): Promise<void> {
    if (lanes.length === 0) return;
    await Promise.all(lanes.map((lane) => this.#workflows.startLane(lane)));
    this.#report({ type: 'lanes-started', count: lanes.length });
  }

  async #allMessages(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const messages = await untoldMessages(this.#database, messagesPerRound);
      const { told, failures } = await this.#tell(messages, signal);
      if (told.length > 0) {
        await markTold(this.#database, told);
        this.#report({ type: 'messages-started', count: told.length });
      }
      for (const error of failures) this.#report({ type: 'error', during: 'start-messages', error });
      if (messages.length < messagesPerRound || failures.length > 0) return;
    }
  }

  /** Starts concurrently. A worker stops at its first failure; the next check finds what is left. */
  async #tell(
    messages: readonly MessageStart[],
    signal: AbortSignal,
  ): Promise<{ told: readonly MessageStart[]; failures: readonly unknown[] }> {
    const told: MessageStart[] = [];
    const queue = messages.values();
    const work = async (): Promise<void> => {
      for (const message of queue) {
        if (signal.aborted) return;
        await this.#workflows.startMessage(message);
        told.push(message);
      }
    };
    const results = await Promise.allSettled(Array.from({ length: concurrentStarts }, work));
    const failure = results.find((result) => result.status === 'rejected');
    return { told, failures: failure === undefined ? [] : [failure.reason] };
  }

  async #guard(
    during: 'start-lanes' | 'start-messages' | 'start-bulk',
    work: () => Promise<void>,
  ): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#report({ type: 'error', during, error });
    }
  }
}
