import type { Lane } from '../core/lane.ts';
import type { Database } from '../store/database.ts';
import {
  abandonLease,
  type AcquiredLane,
  acquireLane,
  freeLease,
  leaseMs,
  renewLease,
} from '../store/lease.ts';

/** A lease is renewed once it is this old. */
const renewAfterMs = 3_000;

/** The lane as this drain holds it. Lost for good when somebody else took it. */
export class LaneLease {
  readonly owner: string;
  readonly #database: Database;
  readonly #lane: Lane;
  readonly #lost = new AbortController();
  #renewedAt = 0;

  constructor(database: Database, lane: Lane, owner: string) {
    this.#database = database;
    this.#lane = lane;
    this.owner = owner;
  }

  /** Fires when the lane belongs to somebody else. */
  get lostSignal(): AbortSignal {
    return this.#lost.signal;
  }

  /** Milliseconds since the lease was known to be ours. */
  get ageMs(): number {
    return performance.now() - this.#renewedAt;
  }

  async acquire(): Promise<AcquiredLane | undefined> {
    const startedAt = performance.now();
    const acquired = await acquireLane(this.#database, this.#lane, this.owner);
    if (acquired !== undefined) this.#renewedAt = startedAt;
    return acquired;
  }

  /** A settle prolongs the lease by itself. */
  prolonged(startedAt: number): void {
    this.#renewedAt = startedAt;
  }

  lose(): void {
    this.#lost.abort();
  }

  /** Prolongs the lease when it is old enough. */
  async renewIfOld(): Promise<void> {
    if (this.ageMs < renewAfterMs || this.#lost.signal.aborted) return;
    const startedAt = performance.now();
    if (await renewLease(this.#database, this.#lane, this.owner)) this.#renewedAt = startedAt;
    else this.lose();
  }

  /** Runs `work` and keeps the lease alive meanwhile, so that a slow broker does not cost the lane. */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    // A failed renewal says nothing about the owner; the settle finds out.
    const timer = setInterval(() => void this.renewIfOld().catch(() => undefined), renewAfterMs / 3);
    try {
      return await work();
    } finally {
      clearInterval(timer);
    }
  }

  /** True when so much of the lease has passed since `sinceMs` that a send could outlive it. */
  staleSince(sinceMs: number): boolean {
    return performance.now() - sinceMs > leaseMs / 2;
  }

  free(quiet: boolean): Promise<void> {
    return freeLease(this.#database, this.#lane, this.owner, quiet);
  }

  /** Gives the lane up like an owner that died. */
  abandon(): Promise<void> {
    return abandonLease(this.#database, this.#lane, this.owner);
  }
}
