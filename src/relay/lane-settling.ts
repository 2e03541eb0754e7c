import { randomUUID } from 'node:crypto';
import { passCrashPoint } from '../core/crash-point.ts';
import type { Claim } from '../store/lane/claim.ts';
import { isFailure, type Settlement } from '../store/lane/settle.ts';
import type { BatchTimes } from './batch-delays.ts';
import { tellExpired } from './expiry.ts';
import { progressOf } from './lane-progress.ts';
import type { LaneTurn } from './lane-turn.ts';
import { type BatchOutcomes, planSettlement } from './plan-settlement.ts';
import { withheld } from './rate-gate.ts';
import { settlePatiently } from './settle-patiently.ts';
import { tellFailures } from './tell-failures.ts';
import { tellSettled } from './tell-settled.ts';

/** Writes what became of the batches of one turn, and reports it. */
export class LaneSettling {
  readonly #turn: LaneTurn;
  /** Settled failures, of this owner or the one before it, are not reported yet. */
  #untold: boolean;

  /** @param untold whether the previous owner left failures that are not reported yet */
  constructor(turn: LaneTurn, untold: boolean) {
    this.#turn = turn;
    this.#untold = untold;
  }

  /** @returns what was written, if anything was */
  async settle(claimed: Claim, outcomes: BatchOutcomes, took: BatchTimes): Promise<Settlement | undefined> {
    const settlement = this.#plan(claimed, outcomes);
    if (!(await this.#write(settlement)) || settlement === undefined) return undefined;
    passCrashPoint('relay:settled');
    tellSettled(this.#turn.input, settlement, took);
    await tellExpired(this.#turn.input, settlement.changes);
    await this.reportFailures();
    return settlement;
  }

  /** Of a claim that waits for its rate: what has expired does not wait with it. */
  async endExpired(claimed: Claim): Promise<void> {
    const outcomes = withheld(claimed);
    const settlement = outcomes && this.#plan(claimed, outcomes);
    if (await this.#write(settlement)) await tellExpired(this.#turn.input, settlement?.changes ?? []);
  }

  /** Behind an empty claim: there are no late messages any more. @returns false if that is not written */
  passLate(claimed: Claim): Promise<boolean> {
    return this.#write(this.#plan(claimed, []));
  }

  /** Reports the failures that are not reported yet. */
  async reportFailures(): Promise<void> {
    if (this.#untold) this.#untold = !(await tellFailures(this.#turn.input, this.#turn.lease.owner));
  }

  #plan(claimed: Claim, outcomes: BatchOutcomes): Settlement | undefined {
    const { at, input, lease } = this.#turn;
    const batch = { batchId: randomUUID(), claim: claimed, outcomes, rules: input.route.rules };
    return planSettlement({ owner: lease.owner, progress: at, ...batch });
  }

  /** @returns false if nothing is written: there is nothing to write, or the lane has another owner */
  async #write(settlement: Settlement | undefined): Promise<boolean> {
    if (settlement === undefined) return false;
    const { input, lease } = this.#turn;
    const startedAt = performance.now();
    if (!(await settlePatiently(input, lease, settlement, this.#turn))) {
      lease.lose();
      return false;
    }
    lease.prolonged(startedAt);
    this.#turn.at = progressOf(settlement);
    this.#turn.freed ||= settlement.changes.some((change) => change.to === 'blocked');
    this.#untold ||= settlement.changes.some(isFailure);
    return true;
  }
}
