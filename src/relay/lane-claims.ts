import { rest } from '../core/rest.ts';
import { isConnectionFailure } from '../store/database/database.ts';
import { type Claim, claim } from '../store/lane/claim.ts';
import type { AcquiredLane } from '../store/lane/lease.ts';
import { isPaused } from '../store/lane/topics.ts';
import { releaseBlocked } from '../store/message/release-blocked.ts';
import type { ClaimAhead, TimedClaim } from './claim-ahead.ts';
import { type LaneProgress, progressPast } from './lane-progress.ts';
import { LaneSuspect } from './lane-suspect.ts';
import type { LaneTurn } from './lane-turn.ts';
import { RateGate } from './rate-gate.ts';
import { reconnectEveryMs } from './settle-patiently.ts';

/** The next claim of a turn. */
interface NextClaim extends TimedClaim {
  /** Blocked messages may be left to release. What is left after a release of all is locked. */
  readonly more: boolean;
}

/** Claims the batches of one turn within the rate of the topic, and releases blocked messages before. */
export class LaneClaims {
  readonly #turn: LaneTurn;
  readonly #rate: RateGate;
  readonly #suspect: LaneSuspect;
  /** The key after which the next release continues; empty: after none. */
  #releasedTo = '';
  #ahead: ClaimAhead | undefined;

  constructor(turn: LaneTurn, acquired: AcquiredLane) {
    this.#turn = turn;
    this.#rate = new RateGate(turn.input, turn.lease, turn);
    this.#suspect = new LaneSuspect(turn, acquired);
  }

  /** False: what is claimed must not be sent, because the lane has another owner and does not record what is suspect. */
  get areSafe(): boolean {
    return this.#suspect.isMarked;
  }

  /** The claim that was made ahead, if it may be sent, else a new one. */
  async next(): Promise<NextClaim> {
    const released = this.#turn.freed;
    const next = (await this.#takeAhead()) ?? (await this.#claimPatiently());
    const { freed } = next.claimed;
    this.#turn.freed = freed;
    return { ...next, more: freed && (!released || this.#releasedTo !== '') };
  }

  /** The part of a claim that the rate lets go now; `undefined`: none of it. */
  admit(claimed: Claim): Promise<Claim | undefined> {
    return this.#rate.admit(claimed);
  }

  /** Claims what follows a batch; not where blocked messages may have to be released before the claim. */
  ahead(batch: Claim, onWire: boolean): ClaimAhead | undefined {
    const from = progressPast(batch, this.#turn.at);
    // With a rate, it would usually be dropped: the rate lets the next batch go later.
    if (this.#turn.freed || from === undefined || batch.share !== null) return undefined;
    return { onWire, claimedAt: performance.now(), from, claimed: this.#claim(from).catch(() => undefined) };
  }

  /** Keeps a claim that was made ahead, for {@link next}. */
  keep(ahead: ClaimAhead): void {
    this.#ahead = ahead;
  }

  /** The claim that was made ahead, if it may be sent: after a settle that leaves the lane ours and its topic not paused. */
  async #takeAhead(): Promise<TimedClaim | undefined> {
    const ahead = this.#ahead;
    this.#ahead = undefined;
    if (ahead === undefined) return undefined;
    const { input, lease } = this.#turn;
    try {
      await lease.renewIfOld();
      const [claimed, paused] = await lease.during(() =>
        Promise.all([ahead.claimed, ahead.onWire && isPaused(input.database, input.lane.topic)]),
      );
      return claimed?.owned === true && !paused ? { claimed, claimedAt: ahead.claimedAt } : undefined;
    } catch {
      // The claim that follows is patient, and reports why.
      return undefined;
    }
  }

  /**
   * A connection that is lost here is replaced, and the lane is kept: nothing was sent since the last settle. After half a
   * lease the turn ends, because another process may be able to reach the database.
   */
  async #claimPatiently(): Promise<TimedClaim> {
    const { input, lease, stop } = this.#turn;
    const startedAt = performance.now();
    for (;;) {
      const claimedAt = performance.now();
      try {
        await lease.renewIfOld();
        return { claimed: await lease.during(() => this.#releaseAndClaim()), claimedAt };
      } catch (error) {
        const patient = isConnectionFailure(error) && !lease.staleSince(startedAt);
        if (!patient || stop.aborted) throw error;
        input.report({ type: 'error', during: 'claim', error });
        await rest(reconnectEveryMs, stop);
      }
    }
  }

  async #releaseAndClaim(): Promise<Claim> {
    const { at, freed, input } = this.#turn;
    await this.#suspect.mark();
    if (freed) {
      const { database, lane } = input;
      this.#releasedTo = (await releaseBlocked(database, lane, this.#failedBlocks, this.#releasedTo)).next;
    }
    return this.#claim(at);
  }

  #claim(from: LaneProgress): Promise<Claim> {
    const { input, lease } = this.#turn;
    const { database, lane, limits, wake } = input;
    // A ring follows a commit, so this claim sees it.
    wake.answer();
    return claim(database, lane, {
      owner: lease.owner,
      ...from,
      limit: this.#rate.claimLimit,
      bytes: limits.bytes,
      failedBlocks: this.#failedBlocks,
      suspect: this.#suspect.snapshot,
    });
  }

  get #failedBlocks(): boolean {
    return this.#turn.input.route.rules.exhausted === 'block-key';
  }
}
