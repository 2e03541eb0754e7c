import { setMaxListeners } from 'node:events';
import { type Lane, laneName } from '../core/lane.ts';
import { ProgressWatch } from '../core/progress-watch.ts';
import { aborted, rest } from '../core/rest.ts';
import type { LaneStart } from '../store/lane/starts.ts';
import type { DrainAnswer } from './drain-input.ts';
import type { RelayReport } from './report.ts';

/** How long a lane waits for its workflow's drain once the workflow was requested. A drain elsewhere looks for it every 250 ms. */
const graceMs = 300;
/** How often a stand-in asks for the workflow again. */
const askAgainMs = 5_000;
/** A drain without progress for this long is stopped, as an activity would be. */
const stuckAfterMs = 30_000;

export interface StandInsInput {
  /** Drains a lane until it is quiet, its time is over, or the signal fires; `taken` if the lane has an owner, or a drain here. */
  readonly drain: (lane: Lane, signal: AbortSignal, progress: () => void) => Promise<DrainAnswer>;
  /** Asks for the lane's workflow. @returns false if it will not come soon. Must not reject */
  readonly ask: (start: LaneStart) => Promise<boolean>;
  /** A stand-in has let go of a lane that may have work. */
  readonly left: () => void;
  readonly report: RelayReport;
}

interface StandIn {
  readonly done: Promise<void>;
  /** Fires when it has sent something, or has ended. */
  readonly begun: AbortController;
}

/**
 * Drains lanes in place of their workflows, which may be late, handed to a process that has just died, or out of reach because
 * Temporal is away. The lease decides who drains.
 *
 * A workflow that comes later gets the lane: in this process it takes the lane over, and for one elsewhere the stand-in lets
 * go of it.
 */
export class StandIns {
  readonly #input: StandInsInput;
  readonly #stopping = new AbortController();
  readonly #running = new Map<string, StandIn>();

  constructor(input: StandInsInput) {
    this.#input = input;
    // Each lane waits with it; Node would take more than ten listeners for a leak, and warn.
    setMaxListeners(0, this.#stopping.signal);
  }

  /** Drains the lane, unless its workflow does so within a short time. @param asked false: the workflow will not come soon */
  offer(start: LaneStart, asked: Promise<boolean>): void {
    const name = laneName(start);
    if (this.#stopping.signal.aborted || this.#running.has(name)) return;
    const begun = new AbortController();
    this.#running.set(name, { done: this.#run(start, asked, begun), begun });
  }

  /** A batch of the lane was settled. */
  settled(lane: Lane): void {
    this.#running.get(laneName(lane))?.begun.abort();
  }

  /** Resolves when each lane that was offered so far has sent its first batch, or is not drained here. */
  async begun(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ begun }) => aborted(begun.signal)));
  }

  /** Ends the drains: they settle and free their lanes first. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  async #run(start: LaneStart, asked: Promise<boolean>, begun: AbortController): Promise<void> {
    const { signal } = this.#stopping;
    if (await asked) await rest(graceMs, signal);
    const answer = signal.aborted ? 'more' : await this.#standIn(start, signal);
    this.#running.delete(laneName(start));
    begun.abort();
    if (answer === 'more' && !signal.aborted) this.#input.left();
  }

  async #standIn(start: LaneStart, signal: AbortSignal): Promise<DrainAnswer | 'failed'> {
    const over = new AbortController();
    try {
      return await this.#drain(start, AbortSignal.any([signal, this.#handover(start, over.signal)]));
    } catch (error) {
      this.#input.report({ type: 'error', during: 'drain', error });
      return 'failed';
    } finally {
      over.abort();
    }
  }

  /** Fires when the lane's workflow was requested again, and its drain in this process would have taken the lane over. */
  #handover(start: LaneStart, over: AbortSignal): AbortSignal {
    const due = new AbortController();
    const ask = async (): Promise<void> => {
      do await rest(askAgainMs, over);
      while (!over.aborted && !(await this.#input.ask({ ...start, replace: false })));
      await rest(graceMs, over);
      due.abort();
    };
    void ask();
    return due.signal;
  }

  async #drain({ topic, lane }: Lane, signal: AbortSignal): Promise<DrainAnswer> {
    const watch = new ProgressWatch(stuckAfterMs);
    try {
      const ended = AbortSignal.any([signal, watch.signal]);
      return await this.#input.drain({ topic, lane }, ended, watch.progress);
    } finally {
      watch.end();
    }
  }
}
