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

/** Messages read at once, and starts under way at once. */
const messagesPerRound = 200;
const concurrentStarts = 20;
/** Between questions for lanes whose owner has died: this long, and so many times what the last question took. */
const orphansEveryMs = 200;
const orphansPause = 10;
/** Between questions for workflows that were ended by force. */
const terminatedEveryMs = 5_000;

/**
 * Makes sure that every lane with work, and every waiting message inside its horizon, has its workflow running.
 *
 * Level-triggered: it looks at what is, not at what happened, so a start that fails or is lost is made again. Any
 * number of starters may run.
 */
export class Starter {
  readonly #database: Database;
  readonly #workflows: WorkflowStarter;
  readonly #topics: readonly string[];
  readonly #report: Report;
  readonly #stopping = new AbortController();
  #terminatedAskedAt = Number.NEGATIVE_INFINITY;
  #orphansAskableAt = Number.NEGATIVE_INFINITY;

  /** @param topics those whose lanes this relay can drain; it starts no others */
  constructor(database: Database, workflows: WorkflowStarter, topics: readonly string[], report: Report) {
    this.#database = database;
    this.#topics = topics;
    this.#workflows = workflows;
    this.#report = report;
  }

  /** Starts the lanes that have work and no owner. */
  readonly startLanes = coalesce(() => this.#guard('start-lanes', () => this.#lanesOnce()));

  /** Starts the lanes that have work and whose owner has died. Asks some times a second, however often it is called. */
  readonly startOrphans = coalesce(() => this.#guard('start-lanes', () => this.#orphansOnce()));

  /** Starts the workflows of waiting messages, until none is left. */
  readonly startMessages = coalesce(() =>
    this.#guard('start-messages', () => this.#allMessages(this.#stopping.signal)),
  );

  /**
   * Has workflows that were terminated started again, while their messages wait. Asks every few seconds, however
   * often it is called. Delivery does not depend on it: the sweep releases what is overdue.
   */
  readonly restartTerminated = coalesce(() => this.#guard('start-messages', () => this.#terminatedOnce()));

  /** Starts the workflows of bulk operations on messages of the outbox that run and have none. */
  readonly startBulks = coalesce(() => this.#guard('start-bulk', () => this.#bulksOnce()));

  /** Makes no more starts, and waits for those under way. */
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

  /** While an old snapshot keeps what was written to the lanes, each question reads all of that: it takes its time. */
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

  /** Starts side by side; whoever meets a failure stops, and what it left is found by the next check. */
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
