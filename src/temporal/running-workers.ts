import type { Worker } from '@temporalio/worker';
import { rest } from '../core/rest.ts';
import type { RelayReport } from '../relay/report.ts';

/** Pause before failed workers are recreated. */
const againAfterMs = 1_000;

/** Workers that run until they are stopped. */
export interface Hosted {
  /** Resolves after {@link Hosted.stop}. */
  readonly done: Promise<void>;
  /** False while failed workers are recreated. */
  running(): boolean;
  /** Ends the workers, and recreates them. */
  renew(): void;
  /** Ends the workers: drains settle, free their lanes and return first. */
  stop(): Promise<void>;
}

/** Creates workers and runs them; rejects if the first ones cannot be created, and reports later failures. */
export async function keepRunning(
  create: () => Promise<readonly Worker[]>,
  report: RelayReport,
): Promise<Hosted> {
  const first = await create();
  const running = new RunningWorkers(create, report);
  const done = running.run(first);
  return {
    done,
    running: () => running.running,
    renew: () => running.renew(),
    stop: () => {
      running.stop();
      return done;
    },
  };
}

/** Workers that are recreated after a failure, and on request. */
class RunningWorkers {
  readonly #create: () => Promise<readonly Worker[]>;
  readonly #report: RelayReport;
  readonly #stopping = new AbortController();
  #renewing = new AbortController();
  running = false;

  constructor(create: () => Promise<readonly Worker[]>, report: RelayReport) {
    this.#create = create;
    this.#report = report;
  }

  renew(): void {
    this.#renewing.abort();
  }

  stop(): void {
    this.#stopping.abort();
  }

  async run(first: readonly Worker[]): Promise<void> {
    const { signal: stop } = this.#stopping;
    let workers = first;
    for (;;) {
      this.#renewing = new AbortController();
      this.running = workers.length > 0;
      await runTogether(workers, AbortSignal.any([stop, this.#renewing.signal])).catch(this.#failed);
      this.running = false;
      if (stop.aborted) return;
      if (!this.#renewing.signal.aborted) await rest(againAfterMs, stop);
      workers = await this.#create().catch((error: unknown) => {
        this.#failed(error);
        return [];
      });
    }
  }

  readonly #failed = (error: unknown): void => this.#report({ type: 'error', during: 'workers', error });
}

/** Ends when all have ended. The first failure ends the others, and is thrown afterwards. */
async function runTogether(workers: readonly Worker[], stop: AbortSignal): Promise<void> {
  const runs = workers.map((worker) => worker.run());
  const end = (): void => shutDown(workers);
  stop.addEventListener('abort', end);
  if (stop.aborted) end();
  try {
    await Promise.all(runs);
  } finally {
    stop.removeEventListener('abort', end);
    end();
    await Promise.allSettled(runs);
  }
}

function shutDown(workers: readonly Worker[]): void {
  for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
}
