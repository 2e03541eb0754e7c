import type { Lane } from '../core/lane.ts';
import { forgetBulkTold, wantedBulks } from '../store/bulk/starts.ts';
import type { Database } from '../store/database/database.ts';
import {
  forgetTold,
  type LaneStart,
  type MessageStart,
  markTold,
  searchLanes,
  untoldMessages,
  wantedLanes,
} from '../store/lane/starts.ts';
import { type BlockedKey, walkBlocked } from '../store/message/release-blocked.ts';
import { coalesce } from './coalesce.ts';
import type { WorkflowStarter } from './ports.ts';
import { QuietLanes } from './quiet-lanes.ts';
import type { RelayReport } from './report.ts';
import type { StandIns } from './stand-ins.ts';
import type { Supervision } from './supervision.ts';

/** Messages per read, and concurrent starts. */
const messagesPerRound = 200;
const concurrentStarts = 20;
/** Between searches for lanes whose owner has died: at least this long, and this multiple of the last search's duration. */
const orphansEveryMs = 200;
const orphansPause = 10;
/** Between searches for terminated workflows. */
const terminatedEveryMs = 5_000;

export interface StarterInput {
  readonly database: Database;
  readonly supervision: Supervision;
  readonly standIns: StandIns;
  /** The topics whose lanes this relay can drain; it starts no others. */
  readonly topics: readonly string[];
  readonly report: RelayReport;
}

/**
 * Ensures that the workflow runs of every lane with work, and of every waiting message within its horizon. A lane whose workflow
 * does not start is drained by a stand-in.
 *
 * Level-triggered: it looks at the current rows, so a start that fails or is lost is repeated. Any number of starters may
 * run.
 */
export class Starter {
  readonly #database: Database;
  readonly #supervision: Supervision;
  readonly #standIns: StandIns;
  readonly #topics: readonly string[];
  readonly #report: RelayReport;
  readonly #stopping = new AbortController();
  #terminatedAskedAt = Number.NEGATIVE_INFINITY;
  #orphansAskableAt = Number.NEGATIVE_INFINITY;
  readonly #quiet = new QuietLanes();
  /** How far the walk over the keys with blocked messages has come. */
  #walkedTo: BlockedKey | undefined;

  constructor({ database, supervision, standIns, topics, report }: StarterInput) {
    this.#database = database;
    this.#supervision = supervision;
    this.#standIns = standIns;
    this.#topics = topics;
    this.#report = report;
  }

  /**
   * Takes the lanes that a look or a sweep has found news in; `null`: it cannot know them, because a look was missed or the server was
   * restarted. Each must be passed on: lanes without work are searched again only after news.
   */
  heard(lanes: readonly Lane[] | null): void {
    if (lanes === null) this.#quiet.forget();
    else this.#quiet.heard(lanes);
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

  /**
   * Looks at the next keys with blocked messages, in turn. Whatever frees a key notes it, which gives its lane work; this
   * notes what was freed in any other way, such as by a new policy of its topic. Its cost does not depend on the number of blocked keys.
   */
  readonly walkBlocked = coalesce(() => this.#guard('start-lanes', () => this.#walkBlockedOnce()));

  /** Starts nothing new, and waits for the current starts. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([
      this.startLanes(),
      this.startOrphans(),
      this.startMessages(),
      this.restartTerminated(),
      this.startBulks(),
      this.walkBlocked(),
    ]);
  }

  async #bulksOnce(): Promise<void> {
    const { workflows } = this.#supervision;
    if (this.#stopping.signal.aborted || workflows === undefined) return;
    for (const bulk of await wantedBulks(this.#database, null)) {
      try {
        await workflows.startBulk(bulk);
        this.#report({ type: 'bulk-started', id: bulk.id });
      } catch (error) {
        this.#report({ type: 'error', during: 'start-bulk', error });
        await forgetBulkTold(this.#database, bulk);
      }
    }
  }

  async #walkBlockedOnce(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    this.#walkedTo = await walkBlocked(this.#database, this.#walkedTo);
  }

  async #terminatedOnce(): Promise<void> {
    const now = performance.now();
    const { workflows } = this.#supervision;
    if (this.#stopping.signal.aborted || workflows === undefined) return;
    if (now - this.#terminatedAskedAt < terminatedEveryMs) return;
    this.#terminatedAskedAt = now;
    const ids = await workflows.terminatedMessages();
    if (ids.length > 0) await forgetTold(this.#database, ids);
  }

  async #lanesOnce(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    const search = this.#quiet.begin();
    const { starts, quiet } = await searchLanes(this.#database, this.#topics, search.quiet);
    search.ended(quiet);
    this.#start(starts);
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
    this.#start(orphans);
  }

  /** Does not wait for the engine, which may be silent for seconds, while other lanes need a drain. */
  #start(lanes: readonly LaneStart[]): void {
    const asked = lanes.map((lane) => {
      const answer = this.#supervision.ask(lane);
      this.#standIns.offer(lane, answer);
      return answer;
    });
    void this.#tellStarted(asked);
  }

  async #tellStarted(asked: readonly Promise<boolean>[]): Promise<void> {
    const count = (await Promise.all(asked)).filter(Boolean).length;
    if (count > 0) this.#report({ type: 'lanes-started', count });
  }

  async #allMessages(signal: AbortSignal): Promise<void> {
    const { workflows } = this.#supervision;
    if (workflows === undefined) return;
    // These are locked, perhaps for long: the others go on.
    const left: string[] = [];
    // While an old snapshot keeps those that have one, a search reads them: each page from where the one before has ended.
    let from: string | null = null;
    while (!signal.aborted) {
      const messages = await untoldMessages(this.#database, messagesPerRound, left, from);
      from = messages.at(-1)?.dueAt ?? from;
      const { told, failures } = await this.#tell(workflows, messages, signal);
      if (told.length > 0) {
        const marked = new Set(await markTold(this.#database, told));
        left.push(...told.map(({ id }) => id).filter((id) => !marked.has(id)));
        this.#report({ type: 'messages-started', count: told.length });
      }
      for (const error of failures) this.#report({ type: 'error', during: 'start-messages', error });
      if (messages.length < messagesPerRound || failures.length > 0) return;
    }
  }

  /** Starts concurrently. A worker stops at its first failure; the next check finds what is left. */
  async #tell(
    workflows: WorkflowStarter,
    messages: readonly MessageStart[],
    signal: AbortSignal,
  ): Promise<{ told: readonly MessageStart[]; failures: readonly unknown[] }> {
    const told: MessageStart[] = [];
    const queue = messages.values();
    const work = async (): Promise<void> => {
      for (const message of queue) {
        if (signal.aborted) return;
        await workflows.startMessage(message);
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
