import { passCrashPoint } from '../core/crash-point.ts';
import { Loop } from '../core/loop.ts';
import { reasonOf } from '../core/reason.ts';
import type { RelayReport } from '../relay/report.ts';
import { noteCall, readUncalled, type UncalledAlert } from '../store/alerts/calls.ts';
import {
  freeDestination,
  noteDestinationTold,
  noteUntold,
  takeDestination,
} from '../store/alerts/destinations.ts';
import type { Database } from '../store/database/database.ts';
import { lendTo } from '../store/database/lend-transaction.ts';
import type { OnAlert } from './on-alert.ts';

export interface AlertCallsInput {
  readonly database: Database;
  readonly onAlert: OnAlert;
  /** Between looks for alerts. */
  readonly everyMs: number;
  readonly report: RelayReport;
}

/** As operators see it among the destinations. */
const name = 'onAlert';
/** Another relay may call then, too: the note of a call, not the lease, makes it one per alert. */
const leaseMs = 5_000;
const longestError = 500;

/**
 * Calls `onAlert` for each alert that has begun or ended.
 *
 * Its call and the note of it are one transaction. A call that fails holds up no other; after a round with one, all relays rest.
 */
export class AlertCalls {
  readonly #input: AlertCallsInput;
  readonly #rounds = new Loop(async () => {
    await this.#callAll();
    return this.#input.everyMs;
  });

  constructor(input: AlertCallsInput) {
    this.#input = input;
  }

  start(): void {
    this.#rounds.start();
  }

  /** Waits for the call under way, and makes no other. Never rejects. */
  stop(): Promise<void> {
    return this.#rounds.stop();
  }

  async #callAll(): Promise<void> {
    const { database, report } = this.#input;
    try {
      if ((await readUncalled(database)).length === 0) return;
      if (!(await takeDestination(database, name, { leaseMs, gapMs: 0 }))) return;
      // Another relay may have called in between.
      await this.#callEach(await readUncalled(database));
    } catch (error) {
      if (!this.#rounds.stopping.aborted) report({ type: 'error', during: 'alerts', error });
    }
  }

  async #callEach(alerts: readonly UncalledAlert[]): Promise<void> {
    const { database, report } = this.#input;
    let calls = 0;
    const errors: unknown[] = [];
    for (const alert of alerts) {
      if (this.#rounds.stopping.aborted) break;
      try {
        await this.#call(alert);
        calls += 1;
      } catch (error) {
        errors.push(error);
      }
    }
    const [first] = errors;
    if (errors.length === 0)
      return calls === 0 ? freeDestination(database, name) : noteDestinationTold(database, name);
    const noted = await noteUntold(database, name, reasonOf(first).slice(0, longestError));
    if (noted !== undefined) report({ type: 'alert-untold', destination: name, ...noted, error: first });
  }

  async #call(uncalled: UncalledAlert): Promise<void> {
    const { database, onAlert } = this.#input;
    const { labels: of, news: _news, ...facts } = uncalled;
    await database.transaction(async (sql) => {
      if (!(await noteCall(sql, uncalled))) return;
      await lendTo(name, (tx) => onAlert(tx, { ...facts, of }), sql);
      passCrashPoint('relay:alert-called');
    });
  }
}
