import { rest } from '../core/rest.ts';
import { type Database, isConnectionFailure } from '../store/database/database.ts';
import type { Claim } from '../store/lane/claim.ts';
import { type ClaimedMessage, hasExpired } from '../store/lane/claimed-messages.ts';
import { type RateAnswer, takeRate } from '../store/lane/rate.ts';
import type { DrainInput } from './drain-input.ts';
import type { LaneLease } from './lane-lease.ts';
import type { Outcome } from './publish-batch.ts';

/** A claim that has waited no longer than this is sent as it is; an older one is read again. */
const freshMs = 50;

/** Messages that a claim reads of a topic with a small rate: some may be blocked, and need no rate. */
const leastClaim = 100;

interface GateLimits {
  readonly deadline: number;
  readonly stop: AbortSignal;
}

/** Of the lanes of a topic in this process: what one of them asks now, and until when the last answer lets nothing go. */
interface Turn {
  asking: Promise<RateAnswer> | undefined;
  refusedUntil: number;
}

const turns = new WeakMap<Database, Map<string, Turn>>();

function turnOf(database: Database, topic: string): Turn {
  const ofTopics = turns.get(database) ?? new Map<string, Turn>();
  turns.set(database, ofTopics);
  const turn = ofTopics.get(topic) ?? { asking: undefined, refusedUntil: Number.NEGATIVE_INFINITY };
  ofTopics.set(topic, turn);
  return turn;
}

/** Keeps a lane to the rate of its topic. Topics without a rate cost it nothing: it asks for those that a claim says have one. */
export class RateGate {
  readonly #input: DrainInput;
  readonly #lease: LaneLease;
  readonly #limits: GateLimits;
  #share: number | null = null;

  constructor(input: DrainInput, lease: LaneLease, limits: GateLimits) {
    this.#input = input;
    this.#lease = lease;
    this.#limits = limits;
  }

  /** How many messages the next claim should read: more could not be sent. */
  get claimLimit(): number {
    const { messages } = this.#input.limits;
    return this.#share === null ? messages : Math.min(messages, Math.max(this.#share, leastClaim));
  }

  /**
   * The part of a claim that may be sent now, in its order.
   *
   * @returns `undefined`: none of it. The lane has waited, and claims again, because meanwhile the topic may have been paused, its
   * rate changed, or a message withdrawn
   */
  async admit(claimed: Claim): Promise<Claim | undefined> {
    this.#share = claimed.share;
    if (claimed.share === null) return claimed;
    const beganAt = performance.now();
    const wanted = claimed.messages.filter((message) => isSent(message, beganAt)).length;
    if (wanted === 0) return claimed;
    for (;;) {
      const { granted, waitMs } = await this.#lease.during(() => this.#ask(wanted)).catch(unlessLost);
      if (granted > 0) return granted < wanted ? firstOf(claimed, granted, beganAt) : claimed;
      const again = performance.now() - beganAt + waitMs <= freshMs;
      await this.#wait(waitMs);
      if (!again || this.#limits.stop.aborted) return undefined;
    }
  }

  /** Lanes of a process ask one after the other, and none while an answer says when the next message may go. */
  async #ask(wanted: number): Promise<RateAnswer> {
    const { database, lane, timings } = this.#input;
    const turn = turnOf(database, lane.topic);
    while (turn.asking !== undefined) await turn.asking.catch(() => undefined);
    const leftMs = turn.refusedUntil - performance.now();
    if (leftMs > 0) return { granted: 0, waitMs: leftMs };
    turn.asking = takeRate(database, lane.topic, wanted);
    try {
      const answer = await turn.asking;
      if (answer.granted === 0)
        turn.refusedUntil = performance.now() + Math.min(answer.waitMs, timings.checkIntervalMs);
      return answer;
    } finally {
      turn.asking = undefined;
    }
  }

  /** Not longer than a lane ever waits to look again: meanwhile its topic may be paused, or have another rate. */
  async #wait(waitMs: number): Promise<void> {
    const { deadline, stop } = this.#limits;
    // Lanes that were refused together should not all ask in the same millisecond.
    const askAgainMs = Math.min(waitMs + 1 + Math.random() * 4, this.#input.timings.checkIntervalMs);
    const restMs = Math.max(0, Math.min(askAgainMs, deadline - performance.now()));
    await this.#lease.during(() => rest(restMs, stop));
  }
}

/** Of a lost connection the next claim reports and waits, as nothing was sent; what was granted meanwhile counts. */
function unlessLost(error: unknown): RateAnswer {
  if (!isConnectionFailure(error)) throw error;
  return { granted: 0, waitMs: 2 * freshMs };
}

/** What becomes of a claim of which the rate lets nothing go: what has expired does not wait with the rest. `undefined`: nothing has. */
export function withheld({ messages }: Claim): readonly (Outcome | undefined)[] | undefined {
  const now = performance.now();
  if (!messages.some((message) => hasExpired(message, now))) return undefined;
  return messages.map((message): Outcome | undefined => {
    if (hasExpired(message, now)) return { kind: 'expired' };
    return message.blocked ? undefined : { kind: 'deferred', onWire: false };
  });
}

/** Blocked and expired messages need no rate. */
function isSent(message: ClaimedMessage, now: number): boolean {
  return !message.blocked && !hasExpired(message, now);
}

/** A claim that ends before the message that would be the next one to be sent after `count` others. */
function firstOf(claimed: Claim, count: number, now: number): Claim {
  let sent = 0;
  const end = claimed.messages.findIndex((message) => isSent(message, now) && ++sent > count);
  return { ...claimed, messages: claimed.messages.slice(0, end), truncated: true };
}
