import { type Lane, laneName } from '../core/lane.ts';
import { Loop } from '../core/loop.ts';
import type { Database } from '../store/database/database.ts';
import { DueEdge } from '../store/lane/due-edge.ts';
import { type LaneNews, type Look, look } from '../store/lane/watch.ts';
import { sweep } from '../store/message/release.ts';
import type { Expiry } from './expiry.ts';
import type { LaneBlockers } from './lane-blockers.ts';
import type { LaneDrains } from './lane-drains.ts';
import type { Overdue } from './overdue.ts';
import type { RelayReport } from './report.ts';
import type { Starter } from './starter.ts';
import type { RelayTimings } from './timings.ts';

/** Rows released by one sweep; the next one follows at once while there are more, while the lanes send the first ones. */
const sweepLimit = 2_000;
/** Sweeps between two looks: a look reads what they released again, and would hold up the next ones. */
const sweepsPerRound = 5;
/** Looks stay frequent this long after the last news. */
const hotForMs = 5_000;
/** How often to look at messages that are overdue but not released: they are locked, or left to their workflow. */
const sweepAgainMs = 20;

/**
 * Between requests to start a lane that is not drained here. Usually another relay drains it, and each message there is news
 * here, too: asking every time would cost the database more than delivering them.
 */
const askAgainMs = 250;

/** A lane to wake, and what is new in it, if known. */
type WokenLane = Lane & Partial<Pick<LaneNews, 'xids'>>;

export interface WatcherInput {
  readonly database: Database;
  readonly drains: LaneDrains;
  readonly starter: Starter;
  readonly overdue: Overdue;
  readonly blockers: LaneBlockers;
  readonly expiry: Expiry;
  /** Topics whose messages wait without a workflow: released as soon as they are due. */
  readonly punctualTopics: readonly string[];
  readonly timings: RelayTimings;
  readonly report: RelayReport;
  /** Wraps every look. */
  readonly looking: (round: Promise<number>) => Promise<number>;
}

/**
 * Watches the whole outbox for this process, so that lanes need not poll: wakes drains whose lanes have news, has the
 * starter start lanes and messages, and releases what is overdue.
 */
export class Watcher {
  readonly #input: WatcherInput;
  readonly #rounds = new Loop(() => this.#next());
  readonly #dueEdge = new DueEdge();
  /** The last look, unless one has failed since. */
  #last: Pick<Look, 'snapshot' | 'incarnation'> | null = null;
  #newsAt = 0;
  #checkedAt = Number.NEGATIVE_INFINITY;
  /** When the starter was asked for a lane, by its name. */
  readonly #askedAt = new Map<string, number>();

  constructor(input: WatcherInput) {
    this.#input = input;
  }

  start(): void {
    this.#rounds.start();
  }

  /** Messages were committed: wakes the drains of these lanes. If a lane may have no drain at all, or none is named, looks now. */
  nudge(lanes: readonly Lane[]): void {
    if (lanes.length === 0 || this.#asleep(lanes).length > 0) this.#rounds.nudge();
  }

  /** Wakes the drains of these lanes. @returns those without a drain here that were not requested from the starter a moment ago */
  #asleep(lanes: readonly WokenLane[]): readonly WokenLane[] {
    const now = performance.now();
    const known = (lane: Lane): boolean =>
      now - (this.#askedAt.get(laneName(lane)) ?? -askAgainMs) < askAgainMs;
    return lanes.filter((lane) => !this.#input.drains.wake(lane, lane.xids) && !known(lane));
  }

  stop(): Promise<void> {
    return this.#rounds.stop();
  }

  #next(): Promise<number> {
    const { looking, report, timings } = this.#input;
    return looking(this.#round()).catch((error: unknown) => {
      report({ type: 'error', during: 'look', error });
      return timings.checkIntervalMs;
    });
  }

  /** Looks once and acts on what it finds. @returns milliseconds until the next look */
  async #round(): Promise<number> {
    const { timings, starter, overdue, blockers, expiry } = this.#input;
    const last = this.#last;
    const { snapshot, incarnation, news, nextDueInMs } = await this.#look();
    this.#last = { snapshot, incarnation };
    // A server that has lost commits assigns their transaction ids again: what gets them is no news to this look.
    const blind = last?.incarnation !== incarnation;
    starter.heard(blind ? null : news);
    const now = performance.now();
    if (news.length > 0 || blind) this.#newsAt = now;
    this.#spread(news);
    if (blind) this.#input.drains.wakeAll();
    void starter.startOrphans();
    if (now - this.#checkedAt >= timings.checkIntervalMs) {
      this.#checkedAt = now;
      void starter.startLanes();
      void starter.startMessages();
      void starter.restartTerminated();
      void starter.startBulks();
      void starter.walkBlocked();
      void overdue.check();
      void blockers.check();
      void expiry.check();
    }
    const hot = now - this.#newsAt < hotForMs;
    const pause = hot ? timings.lookIntervalMs : timings.idleLookIntervalMs;
    if (nextDueInMs === null) return pause;
    if (nextDueInMs > 0) return Math.min(pause, nextDueInMs);
    const released = await this.#sweep();
    // The next look is due at once, because it will find what was released.
    return released > 0 ? 0 : Math.min(pause, sweepAgainMs);
  }

  /**
   * A look reads all that is new since the last one. If that exceeds its time limit, it would grow each time: after a
   * failure the next look begins at its own time, and the rows are checked instead.
   */
  async #look(): Promise<Look> {
    const from = this.#last?.snapshot ?? null;
    this.#last = null;
    return look(this.#input.database, from, this.#dueEdge);
  }

  #spread(news: readonly LaneNews[]): void {
    this.#wakeLanes(news.filter((lane) => lane.ready));
    if (news.some((lane) => lane.waiting)) void this.#input.starter.startMessages();
  }

  #wakeLanes(lanes: readonly WokenLane[]): void {
    const asleep = this.#asleep(lanes);
    if (asleep.length === 0) return;
    const now = performance.now();
    for (const lane of asleep) this.#askedAt.set(laneName(lane), now);
    void this.#input.starter.startLanes();
  }

  async #sweep(): Promise<number> {
    const { database, punctualTopics, report } = this.#input;
    let count = 0;
    for (let round = 0; round < sweepsPerRound && !this.#rounds.stopping.aborted; round += 1) {
      const { released, lanes } = await sweep(database, punctualTopics, sweepLimit, this.#dueEdge);
      // The search that begins now comes before the look that would report them.
      this.#input.starter.heard(lanes);
      this.#wakeLanes(lanes);
      count += released;
      if (released < sweepLimit) break;
    }
    if (count > 0) report({ type: 'messages-swept', count });
    return count;
  }
}
