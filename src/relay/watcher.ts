import type { Lane } from '../core/lane.ts';
import type { Database } from '../store/database/database.ts';
import { DueEdge } from '../store/lane/due-edge.ts';
import { type LaneNews, look } from '../store/lane/watch.ts';
import { sweep } from '../store/message/release.ts';
import type { LaneBlockers } from './lane-blockers.ts';
import type { LaneDrains } from './lane-drains.ts';
import type { Overdue } from './overdue.ts';
import type { Report } from './report.ts';
import type { Starter } from './starter.ts';
import type { RelayTimings } from './timings.ts';
import { Wake } from './wake.ts';

/** Rows released by one sweep; the next one follows at once while there are more. */
const sweepLimit = 2_000;
/** Looks stay frequent this long after the last news. */
const hotForMs = 5_000;
/** What is overdue but not released (locked, or its workflow's turn) is looked at this often. */
const sweepAgainMs = 20;

export interface WatcherInput {
  readonly database: Database;
  readonly drains: LaneDrains;
  readonly starter: Starter;
  readonly overdue: Overdue;
  readonly blockers: LaneBlockers;
  /** Topics whose messages wait without a workflow: released as soon as they are due. */
  readonly punctualTopics: readonly string[];
  readonly timings: RelayTimings;
  readonly report: Report;
  /** Is put around every round. */
  readonly looking: (round: Promise<number>) => Promise<number>;
}

/**
 * Watches the whole outbox for this process, so that lanes need not poll: wakes drains that have news, has lanes and
 * messages started, and releases what is overdue.
 */
export class Watcher {
  readonly #input: WatcherInput;
  readonly #wake = new Wake();
  readonly #stopping = new AbortController();
  readonly #dueEdge = new DueEdge();
  #snapshot: string | null = null;
  #newsAt = 0;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #running: Promise<void> | undefined;

  constructor(input: WatcherInput) {
    this.#input = input;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Something was committed: wakes the drains of the named lanes, and looks now if there are others, or no names. */
  nudge(lanes: readonly Lane[]): void {
    const asleep = lanes.filter((lane) => !this.#input.drains.wake(lane));
    if (lanes.length === 0 || asleep.length > 0) this.#wake.ring();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const waitMs = await this.#input.looking(this.#round()).catch((error: unknown) => {
        this.#input.report({ type: 'error', during: 'look', error });
        return this.#input.timings.checkIntervalMs;
      });
      await this.#wake.wait(waitMs, signal);
    }
  }

  /** One look and what follows from it. Answers the time until the next. */
  async #round(): Promise<number> {
    const { database, timings, starter, overdue, blockers } = this.#input;
    const { snapshot, news, nextDueInMs } = await look(database, this.#snapshot, this.#dueEdge);
    this.#snapshot = snapshot;
    const now = performance.now();
    if (news.length > 0) this.#newsAt = now;
    this.#spread(news);
    void starter.startOrphans();
    if (now - this.#checkedAt >= timings.checkIntervalMs) {
      this.#checkedAt = now;
      void starter.startLanes();
      void starter.startMessages();
      void starter.restartTerminated();
      void starter.startBulks();
      void overdue.check();
      void blockers.check();
    }
    const hot = now - this.#newsAt < hotForMs;
    const pause = hot ? timings.lookIntervalMs : timings.idleLookIntervalMs;
    if (nextDueInMs === null) return pause;
    if (nextDueInMs > 0) return Math.min(pause, nextDueInMs);
    const released = await this.#sweep();
    // What was released is news of the next look, which is therefore due at once.
    return released > 0 ? 0 : Math.min(pause, sweepAgainMs);
  }

  #spread(news: readonly LaneNews[]): void {
    const { drains, starter } = this.#input;
    const asleep = news.filter((lane) => lane.ready && !drains.wake(lane));
    if (asleep.length > 0) void starter.startLanes();
    if (news.some((lane) => lane.waiting)) void starter.startMessages();
  }

  async #sweep(): Promise<number> {
    const { database, punctualTopics, report } = this.#input;
    const count = await sweep(database, punctualTopics, sweepLimit, this.#dueEdge);
    if (count > 0) report({ type: 'messages-swept', count });
    return count;
  }
}
