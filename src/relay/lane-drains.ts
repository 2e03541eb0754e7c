import { type Lane, laneName } from '../core/lane.ts';
import { Wake } from '../core/wake.ts';
import { shows } from '../store/database/snapshot.ts';
import type { DrainAnswer, DrainInput } from './drain-input.ts';
import { drainLane } from './drain-lane.ts';

interface Running {
  /** Everything that it shows is sent; `undefined`: unknown. */
  caughtUpTo: string | undefined;
  readonly abort: AbortController;
  readonly wake: Wake;
  readonly done: Promise<unknown>;
}

/** The drains of this process: one per lane. */
export class LaneDrains {
  readonly #running = new Map<string, Running>();
  readonly #counted: (lanes: number) => void;
  #inHand = 0;

  /** @param counted called with the number of drained lanes, whenever it changes */
  constructor(counted: (lanes: number) => void) {
    this.#counted = counted;
  }

  /** Number of batches that are claimed and not settled. */
  get inHand(): number {
    return this.#inHand;
  }

  /** Whether a drain of this lane runs here, or waits for the lane. */
  has(lane: Lane): boolean {
    return this.#running.has(laneName(lane));
  }

  /** Drains a lane. If a drain of the same lane still runs here, it is ended and awaited first. */
  async run(lane: Lane, input: Omit<DrainInput, 'inHand' | 'lane' | 'wake'>): Promise<DrainAnswer> {
    const name = laneName(lane);
    const before = this.#running.get(name);
    const abort = new AbortController();
    const wake = new Wake();
    const answer = (async () => {
      before?.abort.abort();
      await before?.done;
      const signal = AbortSignal.any([input.signal, abort.signal]);
      const caughtUp = (snapshot: string): void => void (running.caughtUpTo = snapshot);
      return drainLane({ ...input, lane, wake, signal, caughtUp, inHand: (batch) => this.#during(batch) });
    })();
    const running: Running = { caughtUpTo: undefined, abort, wake, done: answer.catch(() => undefined) };
    this.#running.set(name, running);
    this.#counted(this.#running.size);
    try {
      return await answer;
    } finally {
      if (this.#running.get(name) === running) this.#running.delete(name);
      this.#counted(this.#running.size);
    }
  }

  /**
   * Wakes the drain of a lane, unless it has sent all that is new.
   *
   * @param xids the new transactions, separated by commas; `null`: unknown
   * @returns false if no drain of this lane runs here
   */
  wake(lane: Lane, xids: string | null = null): boolean {
    const running = this.#running.get(laneName(lane));
    if (running === undefined) return false;
    const { caughtUpTo } = running;
    // Usually a nudge came first, and a claim that finds nothing costs as much as one that finds something.
    if (xids === null || caughtUpTo === undefined || !shows(caughtUpTo, xids)) running.wake.ring();
    return true;
  }

  /** Wakes all drains: what is new is unknown. */
  wakeAll(): void {
    for (const { wake } of this.#running.values()) wake.ring();
  }

  async #during<Result>(batch: () => Promise<Result>): Promise<Result> {
    this.#inHand += 1;
    try {
      return await batch();
    } finally {
      this.#inHand -= 1;
    }
  }
}
