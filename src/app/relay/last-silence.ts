import { silenceLeft } from '../../store/alerts/silences.ts';
import type { Database } from '../../store/database/database.ts';
import type { AlertRuleName } from '../../watch/figures.ts';

/** The silence of a rule, as it was when the database last answered this process; a process that does not know of it sends alerts. */
export class LastSilence {
  readonly #database: Pick<Database, 'query'>;
  readonly #rule: AlertRuleName;
  /** By `performance.now()`: a clock that is set back must not prolong it. */
  #untilMs = Number.NEGATIVE_INFINITY;

  constructor(database: Pick<Database, 'query'>, rule: AlertRuleName) {
    this.#database = database;
    this.#rule = rule;
  }

  async look(): Promise<void> {
    const askedAt = performance.now();
    const leftMs = await silenceLeft(this.#database, this.#rule).catch(() => undefined);
    if (leftMs !== undefined) this.#untilMs = askedAt + leftMs;
  }

  lasts(): boolean {
    return performance.now() < this.#untilMs;
  }
}
