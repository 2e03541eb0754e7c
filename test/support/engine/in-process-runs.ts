import { setTimeout as delay } from 'node:timers/promises';

/** What a workflow does, in terms of its engine: it sleeps and calls activities. Both reject when the run is ended. */
export interface Run {
  sleep(ms: number): Promise<void>;
  /** Calls an activity until it answers. @param activity is told by the signal that its run is ended */
  call<Answer>(activity: (signal: AbortSignal) => Promise<Answer>): Promise<Answer>;
}

interface Running {
  readonly ending: AbortController;
  /** Activities in progress. */
  calls: number;
}

/** As the workflows repeat an activity. */
const firstRetryMs = 200;
const longestRetryMs = 1_000;

/** Runs workflows in this process, one run per workflow id. What sleeps ends with the process. */
export class InProcessRuns {
  readonly #runs = new Map<string, Running>();
  /** Also of replaced ones. */
  readonly #over = new Set<Promise<void>>();
  readonly #stopping = new AbortController();

  get stopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  /** Whether no activity of this workflow is in progress. */
  isIdle(id: string): boolean {
    return (this.#runs.get(id)?.calls ?? 0) === 0;
  }

  /** Starts a workflow unless it runs. @param replace ends one that runs */
  start(id: string, replace: boolean, workflow: (run: Run) => Promise<unknown>): void {
    const before = this.#runs.get(id);
    if (this.stopped || (before !== undefined && !replace)) return;
    before?.ending.abort();
    const ending = new AbortController();
    const signal = AbortSignal.any([ending.signal, this.#stopping.signal]);
    const running: Running = { ending, calls: 0 };
    this.#runs.set(id, running);
    const over = workflow(runOf(signal, (change) => (running.calls += change)))
      .then(
        () => undefined,
        (error: unknown) => {
          if (!signal.aborted) throw error;
        },
      )
      .finally(() => {
        this.#over.delete(over);
        if (this.#runs.get(id) === running) this.#runs.delete(id);
      });
    this.#over.add(over);
  }

  /** Ends all runs, and waits for their activities. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#over);
  }
}

function runOf(signal: AbortSignal, counted: (change: 1 | -1) => void): Run {
  const sleep = (ms: number): Promise<void> => delay(Math.max(0, ms), undefined, { signal });
  return {
    sleep,
    async call(activity) {
      counted(1);
      try {
        for (let retryMs = firstRetryMs; ; retryMs = Math.min(2 * retryMs, longestRetryMs)) {
          signal.throwIfAborted();
          try {
            return await activity(signal);
          } catch {
            await sleep(retryMs);
          }
        }
      } finally {
        counted(-1);
      }
    },
  };
}
