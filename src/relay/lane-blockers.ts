import { OutboxError } from '../core/errors.ts';
import type { Database } from '../store/database/database.ts';
import { blockerInWords, type LaneBlocker, readLaneBlockers } from '../store/lane/lane-blockers.ts';
import { coalesce } from './coalesce.ts';
import type { RelayReport } from './report.ts';

/** A transaction that holds locks on lane rows for this long is reported. */
const tellAfterMs = 5_000;
/** Between looks, and between two reports of one transaction. */
const lookEveryMs = 5_000;
const tellEveryMs = 60_000;

interface Seen {
  readonly sinceMs: number;
  toldAtMs: number;
}

/**
 * Reports transactions that block lanes: relays skip locked rows, and would otherwise wait silently.
 */
export class LaneBlockers {
  readonly #database: Database;
  readonly #report: RelayReport;
  readonly #tellAfterMs: number;
  readonly #lookEveryMs: number;
  #seen = new Map<string, Seen>();
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(
    database: Database,
    report: RelayReport,
    times: { readonly tellAfterMs: number; readonly lookEveryMs: number } = { tellAfterMs, lookEveryMs },
  ) {
    this.#database = database;
    this.#report = report;
    this.#tellAfterMs = times.tellAfterMs;
    this.#lookEveryMs = times.lookEveryMs;
  }

  /** Looks every few seconds, however often it is called. */
  readonly check = coalesce(async () => {
    const now = performance.now();
    if (now - this.#lookedAt < this.#lookEveryMs) return;
    this.#lookedAt = now;
    try {
      this.#compare(await readLaneBlockers(this.#database), now);
    } catch (error) {
      this.#report({ type: 'error', during: 'look', error });
    }
  });

  #compare(blockers: readonly LaneBlocker[], now: number): void {
    const before = this.#seen;
    this.#seen = new Map();
    for (const blocker of blockers) {
      const name = `${blocker.pid} ${blocker.transaction}`;
      const seen = before.get(name) ?? { sinceMs: now, toldAtMs: Number.NEGATIVE_INFINITY };
      this.#seen.set(name, seen);
      if (now - seen.sinceMs < this.#tellAfterMs || now - seen.toldAtMs < tellEveryMs) continue;
      seen.toldAtMs = now;
      this.#report({ type: 'error', during: 'start-lanes', error: laneLocked(blocker, now - seen.sinceMs) });
    }
  }
}

function laneLocked(blocker: LaneBlocker, lockedMs: number): OutboxError {
  const { application, pid } = blocker;
  const seconds = Math.round(lockedMs / 1_000);
  return new OutboxError(
    'OUTBOX_LANE_LOCKED',
    `${blockerInWords(blocker)} holds locks on rows of outbox.lane in a transaction that has been open for at least ${seconds} s. Their lanes wait.`,
    { details: { pid, application, seconds } },
  );
}
