import type { State } from '../../../src/core/transitions.ts';
import type { Verdict } from '../kafka/scripted-broker.ts';

/** Minutes on the model's clock, and the step that set them: at equal times, the earlier step is due first. */
interface Due {
  readonly minute: number;
  readonly step: number;
}

/** The model's state of a message. */
export interface ModelMessage {
  readonly label: string;
  readonly key: string | null;
  readonly ref: string | null;
  /** The visible state: a ready message that its lane has passed counts as published. */
  state: State;
  position: number;
  due: Due | undefined;
  readonly expires: Due | undefined;
  attempts: number;
  /** The broker may hold it, so it can no longer be canceled. */
  maybePublished: boolean;
  /** An owner that died may have published it. */
  suspect: boolean;
}

export type CancelAnswer = 'canceled' | 'too-late' | 'unknown';

/** Minutes before the second and the third try; after that a message is failed. */
export const retryMinutes = [2, 4] as const;

/**
 * One lane as its guarantees describe it, without a database: a list of messages, a clock, and the log of the broker.
 * It omits transactions, snapshots and statements, because these are what it tests in the real lane.
 */
export class LaneModel {
  readonly messages: ModelMessage[] = [];
  /** Labels in the order in which the broker stored them. */
  readonly log: string[] = [];
  readonly #failedBlocks: boolean;
  readonly #batch: number;
  #minute = 0;
  #step = 0;
  #lastPosition = 0;
  /** True after a crash, until the lane is taken again. */
  #lapsed = false;

  /** @param batch the most messages of a batch */
  constructor(exhausted: 'release-key' | 'block-key', batch: number) {
    this.#failedBlocks = exhausted === 'block-key';
    this.#batch = batch;
  }

  /** @returns false if the ref is taken, or if it would expire before it is due */
  send(
    label: string,
    key: string | null,
    ref: string | null,
    afterMinutes: number | undefined,
    expiresMinutes: number | undefined,
  ): boolean {
    const waits = afterMinutes !== undefined;
    if (waits && expiresMinutes !== undefined && expiresMinutes <= afterMinutes) return false;
    if (waits && this.messages.some((m) => m.state === 'waiting' && ref !== null && m.ref === ref))
      return false;
    this.messages.push({
      label,
      key,
      ref,
      state: waits ? 'waiting' : 'ready',
      position: this.#nextPosition(),
      due: waits ? this.#due(afterMinutes) : undefined,
      expires: expiresMinutes === undefined ? undefined : this.#due(expiresMinutes),
      attempts: 0,
      maybePublished: false,
      suspect: false,
    });
    return true;
  }

  cancel(message: ModelMessage): CancelAnswer {
    if (message.state === 'canceled') return 'canceled';
    const stoppable = message.state === 'retrying' || message.state === 'blocked';
    if (message.state !== 'waiting' && !(stoppable && !message.maybePublished)) return 'too-late';
    message.state = 'canceled';
    return 'canceled';
  }

  /** The message that a ref refers to. */
  ofRef(ref: string): ModelMessage | undefined {
    const named = this.messages.filter((message) => message.ref === ref);
    return named.find(({ state }) => state === 'waiting') ?? named.at(-1);
  }

  reschedule(message: ModelMessage, afterMinutes: number): 'rescheduled' | 'too-late' | 'past-expiry' {
    if (message.state !== 'waiting') return 'too-late';
    const due = this.#due(afterMinutes);
    const { expires } = message;
    if (afterMinutes > 0 && expires !== undefined && compareDue(due, expires) > 0) return 'past-expiry';
    message.due = due;
    return 'rescheduled';
  }

  withdraw(message: ModelMessage): CancelAnswer {
    if (message.state !== 'ready') return this.cancel(message);
    if (message.maybePublished) return 'too-late';
    this.#takeOver();
    if (message.suspect) return 'too-late';
    message.state = 'canceled';
    return 'canceled';
  }

  retry(message: ModelMessage): boolean {
    if (message.state !== 'failed' && message.state !== 'retrying') return false;
    if (this.#isExpired(message)) return false;
    if (message.state === 'failed') message.attempts = 0;
    message.state = 'ready';
    message.suspect = false;
    return true;
  }

  edit(message: ModelMessage, label: string): boolean {
    if (message.state !== 'failed' || this.#isExpired(message)) return false;
    message.state = 'superseded';
    const { key, ref, position, expires } = message;
    const fresh = { attempts: 0, maybePublished: false, suspect: false, due: undefined } as const;
    this.messages.push({ label, key, ref, position, expires, state: 'ready', ...fresh });
    return true;
  }

  discard(message: ModelMessage): boolean {
    if (message.state !== 'failed') return false;
    message.state = 'discarded';
    return true;
  }

  advance(minutes: number): void {
    this.#minute += minutes;
  }

  sweep(): void {
    const due = this.messages
      .filter(({ state }) => state === 'waiting' || state === 'retrying')
      .filter((message) => (message.due?.minute ?? 0) <= this.#minute)
      .toSorted((a, b) => compareDue(a.due, b.due) || a.position - b.position);
    for (const message of due) {
      if (message.state === 'waiting') message.position = this.#nextPosition();
      message.state = 'ready';
      message.suspect = false;
    }
  }

  /** Ends blocked messages whose expiry has passed. */
  expire(): void {
    for (const message of this.#inOrder('blocked')) if (this.#isExpired(message)) message.state = 'expired';
  }

  /** Drains until nothing is left, or crashes after the first batch was answered and before it is settled. */
  drain(verdicts: readonly Verdict[], crash: boolean): void {
    const queue = [...verdicts];
    this.#releaseBlocked();
    this.#takeOver();
    for (;;) {
      const batch = this.#inOrder('ready').slice(0, this.#batch);
      if (batch.length === 0) break;
      const expired = batch.filter((message) => this.#isExpired(message));
      const others = batch.filter((message) => !expired.includes(message));
      const sendable = others.filter((message) => !this.#isBlocked(message));
      const answers = this.#publish(sendable, queue);
      if (crash && sendable.length > 0) {
        this.#lapsed = true;
        return;
      }
      this.#step += 1;
      for (const message of expired) {
        message.state = 'expired';
        message.maybePublished ||= message.suspect;
      }
      for (const message of others) this.#settle(message, answers.get(message) ?? 'blocked');
      this.#releaseBlocked();
    }
    for (const message of this.messages) message.suspect = false;
  }

  /** The process that takes over a lane from a dead owner marks everything that the owner could see as suspect. */
  #takeOver(): void {
    if (!this.#lapsed) return;
    this.#lapsed = false;
    for (const message of this.messages) message.suspect = true;
  }

  #publish(
    batch: readonly ModelMessage[],
    verdicts: Verdict[],
  ): ReadonlyMap<ModelMessage, Verdict | 'blocked'> {
    const stopped = new Set<string>();
    const answers = new Map<ModelMessage, Verdict | 'blocked'>();
    for (const message of batch) {
      if (message.key !== null && stopped.has(message.key)) continue;
      const verdict = verdicts.shift() ?? 'store';
      answers.set(message, verdict);
      if (['store', 'store-silently', 'hold-on-wire'].includes(verdict)) this.log.push(message.label);
      if (verdict !== 'store' && message.key !== null) stopped.add(message.key);
    }
    return answers;
  }

  #settle(message: ModelMessage, answer: Verdict | 'blocked'): void {
    if (answer === 'store') {
      message.state = 'published';
      return;
    }
    const onWire = answer === 'store-silently' || answer === 'lose' || answer === 'hold-on-wire';
    message.maybePublished ||= message.suspect || onWire;
    if (answer === 'hold' || answer === 'hold-on-wire') return;
    if (answer === 'blocked') message.state = 'blocked';
    else this.#fail(message, answer === 'permanent');
  }

  #fail(message: ModelMessage, forGood: boolean): void {
    const pause = forGood ? undefined : retryMinutes[message.attempts];
    message.attempts += 1;
    message.state = pause === undefined ? 'failed' : 'retrying';
    message.due = pause === undefined ? message.due : this.#dueByExpiry(message, pause);
  }

  #releaseBlocked(): void {
    for (const message of this.#inOrder('blocked')) {
      if (this.#hasHead(message, ['retrying'])) continue;
      message.state = 'ready';
      message.suspect = false;
    }
  }

  #isBlocked(message: ModelMessage): boolean {
    return this.#hasHead(message, ['retrying', 'blocked']);
  }

  #hasHead({ key, position }: ModelMessage, states: readonly State[]): boolean {
    if (key === null) return false;
    const blocking = this.#failedBlocks ? [...states, 'failed'] : states;
    return this.messages.some((m) => m.key === key && m.position < position && blocking.includes(m.state));
  }

  #inOrder(state: State): readonly ModelMessage[] {
    return this.messages
      .filter((message) => message.state === state)
      .toSorted((a, b) => a.position - b.position);
  }

  #nextPosition(): number {
    this.#lastPosition += 1;
    return this.#lastPosition;
  }

  #isExpired({ expires }: ModelMessage): boolean {
    return expires !== undefined && expires.minute <= this.#minute;
  }

  /** A message is due at its expiry at the latest. */
  #dueByExpiry({ expires }: ModelMessage, afterMinutes: number): Due {
    const due = this.#due(afterMinutes);
    return expires !== undefined && compareDue(due, expires) > 0 ? expires : due;
  }

  #due(afterMinutes: number): Due {
    this.#step += 1;
    return { minute: this.#minute + afterMinutes, step: this.#step };
  }
}

function compareDue(a: Due | undefined, b: Due | undefined): number {
  return (a?.minute ?? 0) - (b?.minute ?? 0) || (a?.step ?? 0) - (b?.step ?? 0);
}
