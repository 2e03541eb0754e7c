import type { Lane } from '../core/lane.ts';
import type { Database, LiveSession } from '../store/database.ts';
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

/** The lane as this drain holds it. Lost for good when somebody else took it, or when the session of the process ended. */
export class LaneLease {
  readonly owner: string;
  readonly #database: Database;
  readonly #lane: Lane;
  readonly #session: () => LiveSession | undefined;
  readonly #lost = new AbortController();
  readonly #ended = new AbortController();
  #renewedAt = 0;

  constructor(database: Database, lane: Lane, owner: string, session: () => LiveSession | undefined) {
    this.#database = database;
    this.#lane = lane;
    this.owner = owner;
    this.#session = session;
  }

  /** Fires when the lane is not ours any more. */
  get lostSignal(): AbortSignal {
    return this.#lost.signal;
  }

  /** Milliseconds since the lease was known to be ours. */
  get ageMs(): number {
    return performance.now() - this.#renewedAt;
  }

  async acquire(): Promise<AcquiredLane | undefined> {
    const startedAt = performance.now();
    const session = this.#session();
    const acquired = await acquireLane(this.#database, this.#lane, this.owner, session?.key);
    if (acquired === undefined) return undefined;
    this.#renewedAt = startedAt;
    if (session?.lost.aborted) this.lose();
    session?.lost.addEventListener('abort', () => this.lose(), { signal: this.#ended.signal });
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
    if (this.ageMs >= renewAfterMs) await this.renew();
  }

  /** Prolongs the lease. False: the lane is lost. */
  async renew(): Promise<boolean> {
    if (this.#lost.signal.aborted) return false;
    const startedAt = performance.now();
    const ours = await renewLease(this.#database, this.#lane, this.owner);
    if (ours) this.#renewedAt = startedAt;
    else this.lose();
    return ours;
  }

  /** Runs `work` and keeps the lease alive meanwhile, so that a slow broker, or a slow claim, does not cost the lane. */
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

  async free(quiet: boolean): Promise<void> {
    this.#ended.abort();
    await freeLease(this.#database, this.#lane, this.owner, quiet);
  }

  /** Gives the lane up like an owner that died. */
  async abandon(): Promise<void> {
    this.#ended.abort();
    await abandonLease(this.#database, this.#lane, this.owner);
  }
}
