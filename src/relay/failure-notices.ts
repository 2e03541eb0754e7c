import { passCrashPoint } from '../core/crash-point.ts';
import { Loop } from '../core/loop.ts';
import { pauseAfter } from '../core/pause-after.ts';
import type { Database } from '../store/database/database.ts';
import { lendTo } from '../store/database/lend-transaction.ts';
import { noteNotice } from '../store/message/unnotified.ts';
import { HookRest, hookPauses } from './hook-rest.ts';
import type { OnFailed } from './on-failed.ts';
import type { RelayReport } from './report.ts';

/** Failures that another relay, or nobody, has reported are found after this time. */
const lookEveryMs = 5_000;
/** Messages whose call has failed, and that rest; with more of them the one that failed longest ago is forgotten. */
const maxRefused = 1_000;

export interface FailureNoticesInput {
  readonly database: Database;
  /** Names of the topics whose failures are reported. */
  readonly topics: readonly string[];
  readonly onFailed: OnFailed;
  readonly report: RelayReport;
}

interface Refused {
  readonly times: number;
  /** By `performance.now()`. */
  readonly againAt: number;
}

/**
 * Calls the hook for each failed message, in the transaction that notes the call.
 *
 * Level-triggered, and any number of relays may do it concurrently: the first one to lock a row calls.
 */
export class FailureNotices {
  readonly #input: FailureNoticesInput;
  readonly #rounds = new Loop((stopping) => this.#round(stopping));
  readonly #refused = new Map<string, Refused>();
  readonly #rest = new HookRest();
  /** When the first of those that rested at the last look is tried again. */
  #soonestAt = Infinity;

  constructor(input: FailureNoticesInput) {
    this.#input = input;
  }

  start(): void {
    this.#rounds.start();
  }

  /** A message has failed just now. */
  nudge(): void {
    this.#rounds.nudge();
  }

  /** Waits for the call under way. Never rejects. */
  stop(): Promise<void> {
    return this.#rounds.stop();
  }

  async #round(stopping: AbortSignal): Promise<number> {
    try {
      while (!stopping.aborted && this.#rest.leftMs === 0 && (await this.#next()));
    } catch (error) {
      this.#input.report({ type: 'error', during: 'notices', error });
    }
    return this.#rest.leftMs || Math.min(lookEveryMs, this.#soonestAt - performance.now());
  }

  /** @returns false if nothing is left to report at the moment */
  async #next(): Promise<boolean> {
    const { database, onFailed, topics, report } = this.#input;
    let id: string | undefined;
    try {
      await database.transaction(async (sql) => {
        const failed = await noteNotice(sql, topics, this.#resting());
        if (failed === undefined) return;
        ({ id } = failed);
        await lendTo('onFailed', (tx) => onFailed(tx, failed), sql);
        passCrashPoint('relay:notified');
      });
    } catch (error) {
      if (id === undefined) throw error;
      this.#refuse(id);
      report({ type: 'error', during: 'notices', error });
      return true;
    }
    if (id === undefined) return false;
    this.#refused.delete(id);
    this.#rest.succeeded();
    return true;
  }

  #refuse(id: string): void {
    const times = (this.#refused.get(id)?.times ?? 0) + 1;
    this.#rest.failed();
    this.#refused.delete(id);
    const [longest] = this.#refused.keys();
    if (longest !== undefined && this.#refused.size >= maxRefused) this.#refused.delete(longest);
    this.#refused.set(id, { times, againAt: performance.now() + pauseAfter(times, hookPauses) });
  }

  /** The ids that are not to be tried yet. */
  #resting(): readonly string[] {
    const now = performance.now();
    const resting = [...this.#refused].filter(([, { againAt }]) => againAt > now);
    this.#soonestAt = Math.min(...resting.map(([, { againAt }]) => againAt));
    return resting.map(([id]) => id);
  }
}
