import { rest } from '../core/rest.ts';
import type { LaneStart } from '../store/lane/starts.ts';
import type { WorkflowStarter } from './ports.ts';
import type { RelayReport } from './report.ts';

/** The engine counts as away once a request has had no answer for this long. */
const silentMs = 1_000;
/** An outage is reported once it has lasted for so long: a request that is slow now and then is none. */
const reportedAfterMs = 5_000;

/** A time in which no request was answered. */
interface Outage {
  readonly since: number;
  readonly over: AbortController;
  /** The latest. */
  error: unknown;
  reported: boolean;
}

/** The workflow engine. While it is not connected yet, or away, lanes are drained without their workflows. */
export class Supervision {
  readonly #report: RelayReport;
  #workflows: WorkflowStarter | undefined;
  #outage: Outage | undefined;
  #asking = 0;
  #stopped = false;

  constructor(report: RelayReport) {
    this.#report = report;
  }

  /** `undefined` until the engine is connected. */
  get workflows(): WorkflowStarter | undefined {
    return this.#workflows;
  }

  /** From now on workflows are started. */
  begin(workflows: WorkflowStarter): void {
    this.#workflows = workflows;
  }

  /**
   * Asks for the workflow of a lane. While the engine is away, one request at a time finds out whether it is back: each may
   * last for ten seconds, and there is one for every lane every second. Never rejects.
   *
   * @returns false if the workflow will not come soon: the request failed, has no answer within a second, or was not made
   */
  async ask(start: LaneStart): Promise<boolean> {
    const workflows = this.#workflows;
    if (workflows === undefined || (this.#outage !== undefined && this.#asking > 0)) return false;
    this.#asking += 1;
    const answered = new AbortController();
    const answer = workflows
      .startLane(start)
      .then(
        () => this.#reached(),
        (error: unknown) => this.#missed(error),
      )
      .finally(() => {
        this.#asking -= 1;
        answered.abort();
      });
    return Promise.race([answer, this.#silence(answered.signal)]);
  }

  /** From now on no outage is reported. */
  stop(): void {
    this.#stopped = true;
    this.#end();
  }

  #end(): void {
    this.#outage?.over.abort();
    this.#outage = undefined;
  }

  #reached(): true {
    const outage = this.#outage;
    this.#end();
    if (outage?.reported === true)
      this.#report({ type: 'temporal-back', awayMs: performance.now() - outage.since });
    return true;
  }

  #missed(error: unknown): false {
    if (this.#stopped) return false;
    if (this.#outage === undefined) {
      this.#outage = { since: performance.now(), over: new AbortController(), error, reported: false };
      void this.#reportIfItLasts(this.#outage);
    }
    this.#outage.error = error;
    return false;
  }

  async #reportIfItLasts(outage: Outage): Promise<void> {
    await rest(reportedAfterMs, outage.over.signal, { ref: false });
    if (outage.over.signal.aborted) return;
    outage.reported = true;
    this.#report({ type: 'temporal-away', error: outage.error });
  }

  async #silence(answered: AbortSignal): Promise<boolean> {
    await rest(silentMs, answered, { ref: false });
    return answered.aborted || this.#missed(new Error(`No answer for ${silentMs / 1_000} s.`));
  }
}
