import type { BulkRunner } from '../../../src/bulk/bulk-runner.ts';
import type { WorkflowStarter } from '../../../src/relay/ports.ts';
import type { Relay } from '../../../src/relay/relay.ts';
import type { BulkStart } from '../../../src/store/bulk/starts.ts';
import type { LaneStart, MessageStart } from '../../../src/store/lane/starts.ts';
import { runPages } from './in-process-bulk.ts';
import { InProcessRuns, type Run } from './in-process-runs.ts';

/** What the workflows of a relay call. */
export interface LaneParts {
  readonly relay: Pick<Relay, 'drain' | 'release'>;
  readonly bulk: BulkRunner;
}

const lockedPauseMs = 200;
const pollMs = 200;

/** Runs the workflows of a relay in this process, held to the contract of those of Temporal. */
export class InProcessLanes implements WorkflowStarter {
  readonly laneStarts: LaneStart[] = [];
  readonly messageStarts: MessageStart[] = [];
  readonly bulkStarts: BulkStart[] = [];
  /** False: starts are recorded and nothing runs, as if no worker took its tasks. */
  running = true;
  /** What a request for a lane waits for, and may fail by. */
  gate: () => Promise<void> = () => Promise.resolve();
  readonly #runs = new InProcessRuns();
  #parts: LaneParts | undefined;

  /** Starts before this are recorded only. */
  host(parts: LaneParts): void {
    this.#parts = parts;
  }

  async startLane(start: LaneStart): Promise<void> {
    this.laneStarts.push(start);
    await this.gate();
    this.#start(start, async (run, { relay }) => {
      while ((await run.call((signal) => relay.drain(start, signal, () => undefined))) === 'more');
    });
  }

  async startMessage(start: MessageStart): Promise<void> {
    this.messageStarts.push(start);
    this.#start(start, (run, { relay }) => deliverMessage(run, relay, start));
  }

  async startBulk(start: BulkStart): Promise<void> {
    this.bulkStarts.push(start);
    this.#start(start, (run, { bulk }) =>
      runPages(run, () => run.call((signal) => bulk.runPage(start.id, () => undefined, signal))),
    );
  }

  /** No workflow is terminated here; that is tested with Temporal. */
  terminatedMessages(): Promise<readonly string[]> {
    return Promise.resolve([]);
  }

  stop(): Promise<void> {
    return this.#runs.stop();
  }

  #start(
    { replace, workflowId }: Pick<LaneStart, 'replace' | 'workflowId'>,
    workflow: (run: Run, parts: LaneParts) => Promise<unknown>,
  ): void {
    const parts = this.#parts;
    if (this.running && parts !== undefined)
      this.#runs.start(workflowId, replace, (run) => workflow(run, parts));
  }
}

async function deliverMessage(
  run: Run,
  relay: LaneParts['relay'],
  { id, dueInMs }: MessageStart,
): Promise<void> {
  let pauseMs = dueInMs;
  for (;;) {
    await run.sleep(pauseMs);
    const answer = await run.call(() => relay.release(id));
    if (answer.kind === 'done' || answer.kind === 'unknown') return;
    if (answer.kind === 'waiting') pauseMs = answer.dueInMs;
    else pauseMs = answer.kind === 'locked' ? lockedPauseMs : pollMs;
  }
}
