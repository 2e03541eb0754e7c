import { randomUUID } from 'node:crypto';
import type { Hold } from '../brokers/transport.ts';
import { passCrashPoint } from '../core/crash-point.ts';
import { rest } from '../core/rest.ts';
import { isConnectionFailure } from '../store/database/database.ts';
import { type Claim, claim } from '../store/lane/claim.ts';
import { type AcquiredLane, markSuspect } from '../store/lane/lease.ts';
import { isFailure, type Settlement } from '../store/lane/settle.ts';
import { isPaused } from '../store/lane/topics.ts';
import { releaseBlocked } from '../store/message/release-blocked.ts';
import { answeredInTime } from './answered-in-time.ts';
import { type BatchTimes, measureBatch } from './batch-delays.ts';
import { allPublished, type ClaimAhead, mayFollow, type TimedClaim } from './claim-ahead.ts';
import type { DrainAnswer, DrainInput } from './drain-input.ts';
import { tellExpired } from './expiry.ts';
import { sitOutHold } from './hold.ts';
import type { LaneLease } from './lane-lease.ts';
import { type LaneProgress, progressOf, progressPast } from './lane-progress.ts';
import { OwnHold } from './own-hold.ts';
import { pinnedPartitions } from './pinned-partitions.ts';
import { type BatchOutcomes, planSettlement } from './plan-settlement.ts';
import { isSent, publishBatch } from './publish-batch.ts';
import { RateGate, withheld } from './rate-gate.ts';
import { reconnectEveryMs, settlePatiently } from './settle-patiently.ts';
import { tellFailures } from './tell-failures.ts';
import { tellSettled } from './tell-settled.ts';

/** One turn of a lane, from its acquisition on. */
export class Drain {
  readonly #input: DrainInput;
  readonly #lease: LaneLease;
  readonly #deadline: number;
  readonly #stop: AbortSignal;
  readonly #failedBlocks: boolean;
  readonly #rate: RateGate;
  readonly #ownHold: OwnHold;
  #at: LaneProgress;
  #suspect: string | null;
  /** False after a takeover, until the lane's row records what the previous owner may have published. */
  #suspectMarked: boolean;
  /** Keys may be free again: blocked messages are released before the next claim. */
  #freed = true;
  /** Everything that the last claim could see is published: what comes after it rings. */
  #caughtUp = false;
  /** The key after which the next release continues. */
  #releasedTo = '';
  #partitions: number | undefined;
  #ahead: ClaimAhead | undefined;
  /** Settled failures, of this owner or the one before it, are not reported yet. */
  #untold: boolean;
  #lastHoldEndedAt = Number.NEGATIVE_INFINITY;

  constructor(input: DrainInput, lease: LaneLease, deadline: number, at: AcquiredLane) {
    this.#input = input;
    this.#lease = lease;
    this.#deadline = deadline;
    this.#stop = AbortSignal.any([input.signal, lease.lostSignal]);
    this.#rate = new RateGate(input, lease, { deadline, stop: this.#stop });
    this.#ownHold = new OwnHold(input, lease, at);
    this.#failedBlocks = input.route.rules.exhausted === 'block-key';
    this.#at = progressOf(at);
    this.#suspect = at.suspect;
    this.#suspectMarked = !at.lapsed;
    this.#untold = at.untold;
  }

  async run(): Promise<DrainAnswer> {
    let quiet = false;
    let clean = false;
    try {
      const end = await this.#untilQuiet();
      quiet = end === 'quiet';
      clean = this.#suspectMarked;
      return end === 'more' ? 'more' : 'quiet';
    } finally {
      // Nothing of a quiet lane waits for an address.
      const held = this.#ownHold.leave(quiet);
      // After an error it is unknown how much of the last batch the broker has, as if this owner had died.
      await (clean ? this.#lease.free(quiet, held) : this.#lease.abandon());
      const { lane, report } = this.#input;
      report(
        this.#lease.lostSignal.aborted
          ? { type: 'lane-lost', ...lane }
          : { type: 'lane-freed', quiet, ...lane },
      );
    }
  }

  /** Claim, publish, settle in a loop. */
  async #untilQuiet(): Promise<'quiet' | 'paused' | 'more'> {
    const { timings, wake, progress, inHand = (batch) => batch() } = this.#input;
    let quietAt = performance.now() + timings.laneIdleTimeoutMs;
    while (!this.#stop.aborted && performance.now() < this.#deadline) {
      progress();
      await this.#tell();
      const released = this.#freed;
      const { claimed, claimedAt } = (await this.#takeAhead()) ?? (await this.#claimPatiently());
      this.#freed = claimed.freed;
      if (!claimed.owned || !this.#suspectMarked) this.#lease.lose();
      else if (claimed.paused) return 'paused';
      else if (claimed.messages.length > 0) {
        const allowed = await this.#rate.admit(claimed);
        const hold = allowed && (await inHand(() => this.#deliver(allowed, claimedAt)));
        if (hold !== undefined) await this.#hold(hold);
        if (allowed === undefined) await this.#endExpired(claimed);
        quietAt = performance.now() + timings.laneIdleTimeoutMs;
        if (allowed === undefined || !this.#caughtUp) continue;
        this.#input.caughtUp?.(claimed.snapshot);
      } else if (await this.#mayHaveMore(claimed, released)) continue;
      else if (performance.now() >= quietAt) return 'quiet';
      else if (!claimed.freed) this.#input.caughtUp?.(claimed.snapshot);
      await wake.wait(Math.min(quietAt - performance.now(), timings.checkIntervalMs), this.#stop);
    }
    return 'more';
  }

  /** Behind an empty claim. What is left after a release of all is locked. */
  async #mayHaveMore(claimed: Claim, released: boolean): Promise<boolean> {
    if (this.#at.late !== undefined) return this.#write(this.#plan(claimed, []));
    return claimed.freed && (!released || this.#releasedTo !== '');
  }

  /**
   * A connection that is lost here is replaced, and the lane is kept: nothing was sent since the last settle. After half a
   * lease the drain gives up, because another process may be able to reach the database.
   */
  async #claimPatiently(): Promise<TimedClaim> {
    const startedAt = performance.now();
    for (;;) {
      const claimedAt = performance.now();
      try {
        await this.#lease.renewIfOld();
        return { claimed: await this.#lease.during(() => this.#releaseAndClaim()), claimedAt };
      } catch (error) {
        const patient = isConnectionFailure(error) && !this.#lease.staleSince(startedAt);
        if (!patient || this.#stop.aborted) throw error;
        this.#input.report({ type: 'error', during: 'claim', error });
        await rest(reconnectEveryMs, this.#stop);
      }
    }
  }

  async #releaseAndClaim(): Promise<Claim> {
    const { database, lane } = this.#input;
    if (!this.#suspectMarked) await this.#markSuspect();
    if (this.#freed)
      this.#releasedTo = (await releaseBlocked(database, lane, this.#failedBlocks, this.#releasedTo)).next;
    return this.#claim(this.#at);
  }

  #claim(from: LaneProgress): Promise<Claim> {
    const { database, lane, limits, wake } = this.#input;
    // A ring follows a commit, so this claim sees it.
    wake.answer();
    return claim(database, lane, {
      owner: this.#lease.owner,
      ...from,
      limit: this.#rate.claimLimit,
      bytes: limits.bytes,
      failedBlocks: this.#failedBlocks,
      suspect: this.#suspect,
    });
  }

  /** Claims what follows a batch; not where blocked messages may have to be released before the claim. */
  #claimAhead(batch: Claim, onWire: boolean): ClaimAhead | undefined {
    const from = progressPast(batch, this.#at);
    // With a rate, it would usually be dropped: the rate lets the next batch go later.
    if (this.#freed || from === undefined || batch.share !== null) return undefined;
    return { onWire, claimedAt: performance.now(), from, claimed: this.#claim(from).catch(() => undefined) };
  }

  /** The claim that was made ahead, if it may be sent: after a settle that leaves the lane ours and its topic not paused. */
  async #takeAhead(): Promise<TimedClaim | undefined> {
    const ahead = this.#ahead;
    this.#ahead = undefined;
    if (ahead === undefined) return undefined;
    const { database, lane } = this.#input;
    try {
      await this.#lease.renewIfOld();
      const [claimed, paused] = await this.#lease.during(() =>
        Promise.all([ahead.claimed, ahead.onWire && isPaused(database, lane.topic)]),
      );
      return claimed?.owned === true && !paused ? { claimed, claimedAt: ahead.claimedAt } : undefined;
    } catch {
      // The claim that follows is patient, and reports why.
      return undefined;
    }
  }

  /**
   * The previous owner died and may have published everything that it could see, which is at most what is visible now. It is
   * recorded in the lane's row before anything is claimed, because we may die before it is settled.
   */
  async #markSuspect(): Promise<void> {
    const suspect = await markSuspect(this.#input.database, this.#input.lane, this.#lease.owner);
    if (suspect === undefined) return;
    this.#suspect = suspect;
    this.#suspectMarked = true;
  }

  /** @returns the hold, if the lane must wait */
  async #deliver(claimed: Claim, claimedAt: number): Promise<Hold | undefined> {
    const { route, source, wake } = this.#input;
    this.#caughtUp = false;
    const partitions = await this.#pinnedPartitions();
    if (typeof partitions !== 'number') return partitions;
    // If the renewal succeeds, nobody else has owned the lane since the claim: cheaper than claiming the batch again.
    if (this.#lease.staleSince(claimedAt) && !(await this.#lease.renew())) return undefined;
    // Behind a batch that is not full, which is the usual one, there is nothing yet.
    let ahead = claimed.truncated ? this.#claimAhead(claimed, true) : undefined;
    const publishedFrom = performance.now();
    const { outcomes, hold } = await this.#lease.during(() =>
      this.#answered('a batch', (signal) => publishBatch(route, source, partitions, claimed, signal)),
    );
    const answeredAt = performance.now();
    const took = {
      publishMs: answeredAt - publishedFrom,
      ...measureBatch(claimed, outcomes, answeredAt - claimedAt),
    };
    if (hold === undefined && (claimed.truncated || wake.rung)) ahead ??= this.#claimAhead(claimed, false);
    const settled = await this.#settle(claimed, outcomes, took);
    if (hold === undefined && outcomes.some(isSent) && !this.#lease.lostSignal.aborted)
      await this.#ownHold.end();
    if (ahead !== undefined && mayFollow(ahead, settled)) this.#ahead = ahead;
    // A claim ahead that is dropped has answered a ring, so another one must be made.
    const done = ahead === undefined && hold === undefined && !claimed.truncated;
    this.#caughtUp = done && !this.#freed && allPublished(settled);
    return hold;
  }

  /** The answer of a transport, unless it never comes. */
  #answered<Answer>(what: string, call: (signal: AbortSignal) => Promise<Answer>): Promise<Answer> {
    const { lane, report, route, timings } = this.#input;
    const transport = route.transport.name;
    const limits = { what, transport, lane, report, stop: this.#stop, withinMs: timings.stuckAfterMs };
    return answeredInTime(limits, call);
  }

  async #pinnedPartitions(): Promise<number | Hold> {
    if (this.#partitions !== undefined) return this.#partitions;
    const pinned = await pinnedPartitions(this.#input, (ask) =>
      this.#answered('the number of partitions', ask),
    );
    if (typeof pinned === 'number') this.#partitions = pinned;
    return pinned;
  }

  async #tell(): Promise<void> {
    if (this.#untold) this.#untold = !(await tellFailures(this.#input, this.#lease.owner));
  }

  #plan(claimed: Claim, outcomes: BatchOutcomes): Settlement | undefined {
    const batch = { batchId: randomUUID(), claim: claimed, outcomes, rules: this.#input.route.rules };
    return planSettlement({ owner: this.#lease.owner, progress: this.#at, ...batch });
  }

  /** @returns false if nothing is written: there is nothing to write, or the lane has another owner */
  async #write(settlement: Settlement | undefined): Promise<boolean> {
    if (settlement === undefined) return false;
    const startedAt = performance.now();
    const limits = { deadline: this.#deadline, stop: this.#stop };
    if (!(await settlePatiently(this.#input, this.#lease, settlement, limits))) {
      this.#lease.lose();
      return false;
    }
    this.#lease.prolonged(startedAt);
    this.#at = progressOf(settlement);
    this.#freed ||= settlement.changes.some((change) => change.to === 'blocked');
    this.#untold ||= settlement.changes.some(isFailure);
    return true;
  }

  /** @returns what was written, if anything was */
  async #settle(claimed: Claim, outcomes: BatchOutcomes, took: BatchTimes): Promise<Settlement | undefined> {
    const settlement = this.#plan(claimed, outcomes);
    if (!(await this.#write(settlement)) || settlement === undefined) return undefined;
    passCrashPoint('relay:settled');
    tellSettled(this.#input, settlement, took);
    await tellExpired(this.#input, settlement.changes);
    await this.#tell();
    return settlement;
  }

  /** Of a claim that waits for its rate: what has expired does not wait with it. */
  async #endExpired(claimed: Claim): Promise<void> {
    const outcomes = withheld(claimed);
    const settlement = outcomes && this.#plan(claimed, outcomes);
    if (await this.#write(settlement)) await tellExpired(this.#input, settlement?.changes ?? []);
  }

  async #hold(hold: Hold): Promise<void> {
    const { probeIntervalMs } = this.#input.timings;
    const again = performance.now() - this.#lastHoldEndedAt < 2 * probeIntervalMs;
    const [own, deadline, stop] = [this.#ownHold, this.#deadline, this.#stop];
    const limits = { own, firstProbeMs: again ? probeIntervalMs : 0, deadline, stop };
    await sitOutHold(this.#input, this.#lease, hold, limits);
    this.#lastHoldEndedAt = performance.now();
  }
}
