import type { ConsumerReport } from '../consumer-event.ts';

/** Reports an outage of Temporal once, and its end, however many workflows and workers fail during it. */
export class TemporalOutage {
  readonly #report: ConsumerReport;
  #since: Date | undefined;

  constructor(report: ConsumerReport) {
    this.#report = report;
  }

  /** True from the report of an outage until that of its end. */
  get told(): boolean {
    return this.#since !== undefined;
  }

  failed(error: unknown): void {
    if (this.#since !== undefined) return;
    this.#since = new Date();
    this.#report({ type: 'workflows-failing', error });
  }

  /** Temporal has answered every request. */
  answered(): void {
    if (this.#since === undefined) return;
    this.#report({ type: 'workflows-resumed', since: this.#since });
    this.#since = undefined;
  }
}
