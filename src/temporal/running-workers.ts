import { setTimeout as delay } from 'node:timers/promises';
import type { Worker } from '@temporalio/worker';
import type { Report } from '../relay/report.ts';

/** Before workers that failed are made anew. */
const againAfterMs = 1_000;

/** Workers that are made anew when they fail, and when they are told to. */
export class RunningWorkers {
  readonly #create: () => Promise<readonly Worker[]>;
  readonly #report: Report;
  readonly #stopping = new AbortController();
  #renewing = new AbortController();

  constructor(create: () => Promise<readonly Worker[]>, report: Report) {
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
      await runTogether(workers, AbortSignal.any([stop, this.#renewing.signal])).catch(this.#failed);
      if (stop.aborted) return;
      if (!this.#renewing.signal.aborted)
        await delay(againAfterMs, undefined, { signal: stop }).catch(() => undefined);
      workers = await this.#create().catch((error: unknown) => {
        this.#failed(error);
        return [];
      });
    }
  }

  readonly #failed = (error: unknown): void => this.#report({ type: 'failed', what: 'workers', error });
}

/** Ends when all have ended. The first failure ends the others, and is thrown then. */
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
