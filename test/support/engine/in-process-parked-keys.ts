import { setTimeout as delay } from 'node:timers/promises';
import type { HostedParkedKeys, ParkedKeysPlan } from '../../../src/inbox/consumer-plan.ts';
import type { ParkedKeyStart } from '../../../src/inbox/ports.ts';
import { runPages } from './in-process-bulk.ts';
import { InProcessRuns, type Run } from './in-process-runs.ts';

interface Host {
  readonly plan: ParkedKeysPlan;
  readonly stopping: AbortController;
  /** Calls in progress. */
  readonly calls: Set<Promise<unknown>>;
}

const shortestPauseMs = 100;
const withoutHostMs = 50;

/**
 * Runs the workflows of parked keys in this process, held to the contract of those of Temporal. It is the server that the
 * consumers of one group share: what one has started, another goes on with.
 */
export class InProcessParkedKeys {
  readonly #runs = new InProcessRuns();
  readonly #hosts: Host[] = [];

  /** The engine of one more consumer. */
  host(plan: ParkedKeysPlan): HostedParkedKeys {
    const host: Host = { plan, stopping: new AbortController(), calls: new Set() };
    const started = (): void => {
      if (host.stopping.signal.aborted) throw new Error('The consumer was stopped.');
      if (!this.#hosts.includes(host)) this.#hosts.push(host);
    };
    return {
      workflows: {
        start: async (key) => {
          started();
          this.#start(key);
        },
        check: async () => started(),
        hosting: () => this.#hosts.includes(host),
      },
      bulks: {
        host: async () => started(),
        start: async ({ id, replace, workflowId }) => {
          started();
          this.#runs.start(workflowId, replace, (run) => this.#runBulk(run, id));
        },
      },
      stop: async () => {
        host.stopping.abort();
        if (this.#hosts.includes(host)) this.#hosts.splice(this.#hosts.indexOf(host), 1);
        await Promise.allSettled(host.calls);
      },
    };
  }

  stop(): Promise<void> {
    return this.#runs.stop();
  }

  #start({ dueInMs, keyId, replace, workflowId }: ParkedKeyStart): void {
    const replaces = replace === 'always' || (replace === 'if-idle' && this.#runs.isIdle(workflowId));
    this.#runs.start(workflowId, replaces, async (run) => {
      for (let pauseMs = dueInMs; ; ) {
        await run.sleep(pauseMs);
        const answer = await this.#call(run, ({ plan: { drains } }, signal) =>
          drains.drain(keyId, signal, () => undefined),
        );
        if (answer.kind !== 'waiting') return;
        pauseMs = Math.max(answer.inMs, shortestPauseMs);
      }
    });
  }

  #runBulk(run: Run, id: string): Promise<void> {
    return runPages(run, () =>
      this.#call(run, ({ plan: { bulk } }, signal) => bulk.runPage(id, () => undefined, signal)),
    );
  }

  /** At the host that has waited longest. */
  #call<Answer>(run: Run, activity: (host: Host, signal: AbortSignal) => Promise<Answer>): Promise<Answer> {
    return run.call(async (signal) => {
      let host = this.#hosts.shift();
      for (; host === undefined; host = this.#hosts.shift())
        await delay(withoutHostMs, undefined, { signal });
      this.#hosts.push(host);
      const { calls, stopping } = host;
      const call = activity(host, AbortSignal.any([signal, stopping.signal]));
      calls.add(call);
      return call.finally(() => calls.delete(call));
    });
  }
}
