import type { Hold } from '../brokers/transport.ts';
import type { Claim } from '../store/lane/claim.ts';
import { answeredInTime } from './answered-in-time.ts';
import { measureBatch } from './batch-delays.ts';
import { allPublished, mayFollow } from './claim-ahead.ts';
import type { LaneClaims } from './lane-claims.ts';
import type { LaneSettling } from './lane-settling.ts';
import type { LaneTurn } from './lane-turn.ts';
import type { OwnHold } from './own-hold.ts';
import { pinnedPartitions } from './pinned-partitions.ts';
import { isSent, publishBatch } from './publish-batch.ts';

/** Publishes and settles the batches of one turn. */
export class LaneDelivery {
  readonly #turn: LaneTurn;
  readonly #claims: LaneClaims;
  readonly #settling: LaneSettling;
  readonly #ownHold: Pick<OwnHold, 'end'>;
  /** Asked once. */
  #partitions: number | undefined;
  #caughtUp = false;

  constructor(turn: LaneTurn, claims: LaneClaims, settling: LaneSettling, ownHold: Pick<OwnHold, 'end'>) {
    this.#turn = turn;
    this.#claims = claims;
    this.#settling = settling;
    this.#ownHold = ownHold;
  }

  /** Everything that the claim of the last batch could see is published: what comes after it rings. */
  get caughtUp(): boolean {
    return this.#caughtUp;
  }

  /** @returns the hold, if the lane must wait */
  async deliver(claimed: Claim, claimedAt: number): Promise<Hold | undefined> {
    const { input, lease } = this.#turn;
    const { route, source, wake } = input;
    this.#caughtUp = false;
    const partitions = await this.#pinnedPartitions();
    if (typeof partitions !== 'number') return partitions;
    // If the renewal succeeds, nobody else has owned the lane since the claim: cheaper than claiming the batch again.
    if (lease.staleSince(claimedAt) && !(await lease.renew())) return undefined;
    // Behind a batch that is not full, which is the usual one, there is nothing yet.
    let ahead = claimed.truncated ? this.#claims.ahead(claimed, true) : undefined;
    const publishedFrom = performance.now();
    const { outcomes, hold } = await lease.during(() =>
      this.#answered('a batch', (signal) => publishBatch(route, source, partitions, claimed, signal)),
    );
    const answeredAt = performance.now();
    const took = {
      publishMs: answeredAt - publishedFrom,
      ...measureBatch(claimed, outcomes, answeredAt - claimedAt),
    };
    if (hold === undefined && (claimed.truncated || wake.rung)) ahead ??= this.#claims.ahead(claimed, false);
    const settled = await this.#settling.settle(claimed, outcomes, took);
    if (hold === undefined && outcomes.some(isSent) && !lease.lostSignal.aborted) await this.#ownHold.end();
    if (ahead !== undefined && mayFollow(ahead, settled)) this.#claims.keep(ahead);
    // A claim ahead that is dropped has answered a ring, so another one must be made.
    const done = ahead === undefined && hold === undefined && !claimed.truncated;
    this.#caughtUp = done && !this.#turn.freed && allPublished(settled);
    return hold;
  }

  async #pinnedPartitions(): Promise<number | Hold> {
    if (this.#partitions !== undefined) return this.#partitions;
    const pinned = await pinnedPartitions(this.#turn.input, (ask) =>
      this.#answered('the number of partitions', ask),
    );
    if (typeof pinned === 'number') this.#partitions = pinned;
    return pinned;
  }

  /** The answer of a transport, unless it never comes. */
  #answered<Answer>(what: string, call: (signal: AbortSignal) => Promise<Answer>): Promise<Answer> {
    const { input, stop } = this.#turn;
    const { lane, report, route, timings } = input;
    const transport = route.transport.name;
    const limits = { what, transport, lane, report, stop, withinMs: timings.stuckAfterMs };
    return answeredInTime(limits, call);
  }
}
