import type { Hold } from '../brokers/transport.ts';
import { type AcquiredLane, type LaneHold, writeHold } from '../store/lane/lease.ts';
import type { DrainInput } from './drain-input.ts';
import type { LaneLease } from './lane-lease.ts';

/**
 * The hold of a lane as one owner sees it. The lane's row shows it and keeps it from owner to owner, so that it lasts as long as
 * its cause; each owner reports its own part of it.
 */
export class OwnHold {
  readonly #input: Pick<DrainInput, 'database' | 'lane' | 'report'>;
  readonly #lease: Pick<LaneLease, 'owner'>;
  /** When it began, perhaps with an earlier owner, as `performance.now()` has it; `undefined`: there is none. */
  #beganAt: number | undefined;
  #reported = false;

  /** @param found what an earlier owner has left */
  constructor(
    input: Pick<DrainInput, 'database' | 'lane' | 'report'>,
    lease: Pick<LaneLease, 'owner'>,
    { hold, heldMs }: Pick<AcquiredLane, 'hold' | 'heldMs'>,
  ) {
    this.#input = input;
    this.#lease = lease;
    if (hold !== null) this.#begun(hold, { heldMs, continued: true });
  }

  /** Shows it and reports it, or goes on with one. */
  async begin(hold: Hold): Promise<void> {
    const { database, lane } = this.#input;
    const heldMs = await writeHold(database, lane, this.#lease.owner, hold);
    this.#begun(hold, { heldMs, continued: false });
  }

  /** Ends it, if there is one: the address answers. */
  async end(): Promise<void> {
    if (this.#beganAt === undefined) return;
    const { database, lane } = this.#input;
    await writeHold(database, lane, this.#lease.owner, undefined);
    this.leave(true);
  }

  /**
   * Reports the end of this owner's part.
   *
   * @param over also of the hold: nothing waits any more
   * @returns true if there is one that the next owner continues
   */
  leave(over: boolean): boolean {
    if (this.#beganAt === undefined) return false;
    const { lane, report } = this.#input;
    const lastedMs = performance.now() - this.#beganAt;
    if (this.#reported) report({ type: 'hold-ended', lastedMs, over, ...lane });
    this.#beganAt = undefined;
    this.#reported = false;
    return !over;
  }

  #begun(
    { scope, reason }: Pick<LaneHold, 'scope' | 'reason'>,
    { heldMs, continued }: { readonly heldMs: number; readonly continued: boolean },
  ): void {
    this.#beganAt ??= performance.now() - heldMs;
    // What the database refuses is reported as an error.
    if (this.#reported || scope === 'settle') return;
    this.#reported = true;
    const { lane, report } = this.#input;
    report({ type: 'hold-began', hold: { scope, reason }, continued, ...lane });
  }
}
