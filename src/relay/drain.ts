import type { Hold } from '../brokers/transport.ts';
import type { Claim } from '../store/lane/claim.ts';
import type { AcquiredLane } from '../store/lane/lease.ts';
import type { DrainAnswer, DrainInput } from './drain-input.ts';
import { sitOutHold } from './hold.ts';
import { LaneClaims } from './lane-claims.ts';
import { LaneDelivery } from './lane-delivery.ts';
import type { LaneLease } from './lane-lease.ts';
import { progressOf } from './lane-progress.ts';
import { LaneSettling } from './lane-settling.ts';
import type { LaneTurn } from './lane-turn.ts';
import { OwnHold } from './own-hold.ts';

/** Drains a lane for one turn, from its acquisition on. */
export class Drain {
  readonly #turn: LaneTurn;
  readonly #claims: LaneClaims;
  readonly #settling: LaneSettling;
  readonly #delivery: LaneDelivery;
  readonly #ownHold: OwnHold;
  #lastHoldEndedAt = Number.NEGATIVE_INFINITY;

  /** @param deadline as of {@link LaneTurn} */
  constructor(input: DrainInput, lease: LaneLease, deadline: number, acquired: AcquiredLane) {
    const stop = AbortSignal.any([input.signal, lease.lostSignal]);
    this.#turn = { input, lease, deadline, stop, at: progressOf(acquired), freed: true };
    this.#claims = new LaneClaims(this.#turn, acquired);
    this.#settling = new LaneSettling(this.#turn, acquired.untold);
    this.#ownHold = new OwnHold(input, lease, acquired);
    this.#delivery = new LaneDelivery(this.#turn, this.#claims, this.#settling, this.#ownHold);
  }

  async run(): Promise<DrainAnswer> {
    const { input, lease } = this.#turn;
    let quiet = false;
    let clean = false;
    try {
      const end = await this.#untilQuiet();
      quiet = end === 'quiet';
      clean = this.#claims.areSafe;
      return end === 'more' ? 'more' : 'quiet';
    } finally {
      // Nothing of a quiet lane waits for an address.
      const held = this.#ownHold.leave(quiet);
      // After an error it is unknown how much of the last batch the broker has, as if this owner had died.
      await (clean ? lease.free(quiet, held) : lease.abandon());
      const { lane, report } = input;
      report(
        lease.lostSignal.aborted ? { type: 'lane-lost', ...lane } : { type: 'lane-freed', quiet, ...lane },
      );
    }
  }

  /** Claim, publish, settle in a loop. */
  async #untilQuiet(): Promise<'quiet' | 'paused' | 'more'> {
    const { deadline, input, lease, stop } = this.#turn;
    const { caughtUp, inHand = (batch) => batch(), progress, timings, wake } = input;
    let quietAt = performance.now() + timings.laneIdleTimeoutMs;
    while (!stop.aborted && performance.now() < deadline) {
      progress();
      await this.#settling.reportFailures();
      const { claimed, claimedAt, more } = await this.#claims.next();
      if (!claimed.owned || !this.#claims.areSafe) lease.lose();
      else if (claimed.paused) return 'paused';
      else if (claimed.messages.length > 0) {
        const allowed = await this.#claims.admit(claimed);
        const hold = allowed && (await inHand(() => this.#delivery.deliver(allowed, claimedAt)));
        if (hold !== undefined) await this.#sitOut(hold);
        if (allowed === undefined) await this.#settling.endExpired(claimed);
        quietAt = performance.now() + timings.laneIdleTimeoutMs;
        if (allowed === undefined || !this.#delivery.caughtUp) continue;
        caughtUp?.(claimed.snapshot);
      } else if (await this.#mayHaveMore(claimed, more)) continue;
      else if (performance.now() >= quietAt) return 'quiet';
      else if (!claimed.freed) caughtUp?.(claimed.snapshot);
      await wake.wait(Math.min(quietAt - performance.now(), timings.checkIntervalMs), stop);
    }
    return 'more';
  }

  /** Behind an empty claim. */
  async #mayHaveMore(claimed: Claim, more: boolean): Promise<boolean> {
    return this.#turn.at.late === undefined ? more : this.#settling.passLate(claimed);
  }

  async #sitOut(hold: Hold): Promise<void> {
    const { deadline, input, lease, stop } = this.#turn;
    const { probeIntervalMs } = input.timings;
    const again = performance.now() - this.#lastHoldEndedAt < 2 * probeIntervalMs;
    const limits = { own: this.#ownHold, firstProbeMs: again ? probeIntervalMs : 0, deadline, stop };
    await sitOutHold(input, lease, hold, limits);
    this.#lastHoldEndedAt = performance.now();
  }
}
