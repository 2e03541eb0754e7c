import type { Lane } from '../core/lane.ts';
import type { Database, LiveSession } from '../store/database/database.ts';
import {
  type AcquiredLane,
  abandonLease,
  acquireLane,
  freeLease,
  leaseMs,
  renewLease,
} from '../store/lane/lease.ts';

/** A lease is renewed once it is this old. */
const renewAfterMs = 3_000;

/** How often a long step looks whether the lease is old, or its session another one. */
const lookEveryMs = 200;

/** The lane as this drain holds it. Lost for good when somebody else took it. */
export class LaneLease {
  readonly owner: string;
  readonly #database: Database;
  readonly #lane: Lane;
  readonly #session: () => LiveSession | undefined;
  readonly #lost = new AbortController();
  #renewedAt = 0;
  /** The session that the lane was tied to last. */
  #tiedTo: string | undefined;

  constructor(database: Database, lane: Lane, owner: string, session: () => LiveSession | undefined) {
    this.#database = database;
    this.#lane = lane;
    this.owner = owner;
    this.#session = session;
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
    const key = this.#session()?.key;
    const acquired = await acquireLane(this.#database, this.#lane, this.owner, key);
    if (acquired !== undefined) this.#renewed(startedAt, key);
    return acquired;
  }

  /** A settle prolongs the lease by itself. */
  prolonged(startedAt: number): void {
    this.#renewedAt = startedAt;
  }

  lose(): void {
    this.#lost.abort();
  }

  /** Prolongs the lease when it is old enough, or tied to a session that is lost. */
  async renewIfOld(): Promise<void> {
    if (this.ageMs >= renewAfterMs || this.#session()?.key !== this.#tiedTo) await this.renew();
  }

  /** Prolongs the lease. False: the lane is lost. */
  async renew(): Promise<boolean> {
    if (this.#lost.signal.aborted) return false;
    const startedAt = performance.now();
    const key = this.#session()?.key;
    const ours = await renewLease(this.#database, this.#lane, this.owner, key);
    if (ours) this.#renewed(startedAt, key);
    else this.lose();
    return ours;
  }

  /** Runs `work` and keeps the lease alive meanwhile, so that a slow broker, or a slow claim, does not cost the lane. */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    // A failed renewal says nothing about the owner; the settle finds out.
    const timer = setInterval(() => void this.renewIfOld().catch(() => undefined), lookEveryMs);
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

  #renewed(startedAt: number, key: string | undefined): void {
    this.#renewedAt = startedAt;
    this.#tiedTo = key;
  }
}
