import { randomUUID } from 'node:crypto';
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
import type { DrainInput } from './drain-input.ts';

/** A lease is renewed once it is this old. */
const renewAfterMs = 3_000;

/** How often a long step checks whether the lease is old or the session has changed. */
const lookEveryMs = 200;

export type LeaseInput = Pick<DrainInput, 'database' | 'lane' | 'session' | 'standIn'>;

/** This drain's ownership of the lane. Lost for good once another owner has taken the lane. */
export class LaneLease {
  readonly owner = randomUUID();
  readonly #database: Database;
  readonly #lane: Lane;
  readonly #session: () => LiveSession | undefined;
  readonly #standIn: boolean;
  readonly #lost = new AbortController();
  #renewedAt = 0;
  /** The session that the lane was last tied to. */
  #tiedTo: string | undefined;

  constructor({ database, lane, session = () => undefined, standIn = false }: LeaseInput) {
    this.#database = database;
    this.#lane = lane;
    this.#session = session;
    this.#standIn = standIn;
  }

  /** Fires when the lane has another owner. */
  get lostSignal(): AbortSignal {
    return this.#lost.signal;
  }

  /** Milliseconds since the lease was last known to be ours. */
  get ageMs(): number {
    return performance.now() - this.#renewedAt;
  }

  async acquire(): Promise<AcquiredLane | undefined> {
    const startedAt = performance.now();
    const session = this.#session()?.key;
    const standIn = this.#standIn;
    const acquired = await acquireLane(this.#database, this.#lane, this.owner, { session, standIn });
    if (acquired !== undefined) this.#renewed(startedAt, session);
    return acquired;
  }

  /** Notes that a settle has extended the lease. */
  prolonged(startedAt: number): void {
    this.#renewedAt = startedAt;
  }

  lose(): void {
    this.#lost.abort();
  }

  /** Renews the lease if it is old enough, or tied to a lost session. */
  async renewIfOld(): Promise<void> {
    if (this.ageMs >= renewAfterMs || this.#session()?.key !== this.#tiedTo) await this.renew();
  }

  /** Renews the lease. @returns false if the lane is lost */
  async renew(): Promise<boolean> {
    if (this.#lost.signal.aborted) return false;
    const startedAt = performance.now();
    const session = this.#session()?.key;
    const standIn = this.#standIn;
    // In a transaction, because transactions do not wait for a lock as long as single statements would.
    const ours = await this.#database.transaction((sql) =>
      renewLease(sql, this.#lane, this.owner, { session, standIn }),
    );
    if (ours) this.#renewed(startedAt, session);
    else this.lose();
    return ours;
  }

  /** Renews the lease while `work` runs, so that a slow broker or a slow claim does not lose the lane. */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    // One at a time: a lock on the row would soon keep every connection waiting. A failed renewal does not show who
    // owns the lane; the settle will.
    let renewing = false;
    const look = async (): Promise<void> => {
      if (renewing) return;
      renewing = true;
      await this.renewIfOld().catch(() => undefined);
      renewing = false;
    };
    const timer = setInterval(() => void look(), lookEveryMs);
    try {
      return await work();
    } finally {
      clearInterval(timer);
    }
  }

  /** True if so much time has passed since `sinceMs` that a send could outlive the lease. */
  staleSince(sinceMs: number): boolean {
    return performance.now() - sinceMs > leaseMs / 2;
  }

  /** Frees the lane. @param held it is still on hold, which the next owner continues */
  free(quiet: boolean, held: boolean): Promise<void> {
    return freeLease(this.#database, this.#lane, this.owner, quiet, held);
  }

  /** Gives the lane up as if the owner had died. */
  abandon(): Promise<void> {
    return abandonLease(this.#database, this.#lane, this.owner);
  }

  #renewed(startedAt: number, key: string | undefined): void {
    this.#renewedAt = startedAt;
    this.#tiedTo = key;
  }
}
