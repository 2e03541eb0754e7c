import { OutboxError } from '../../core/errors.ts';
import { remember } from '../../core/remember.ts';
import { rest } from '../../core/rest.ts';
import { sqlOf, type Transaction } from '../../store/database/transaction.ts';
import { type BegunTry, returnTry } from '../../store/inbox/tries.ts';
import type { ConsumerContext } from '../consumer-context.ts';
import { keyNameOf } from '../handling/breaker.ts';
import { faultOf } from '../handling/infrastructure-faults.ts';
import { nextPauseMs } from '../handling/retry-pace.ts';
import type { ParkedKeyAnswer } from '../ports.ts';
import { refusalReasonOf } from '../reading/unreadable.ts';
import { verdictOf } from '../verdict.ts';
import type { Begun } from './parked-message.ts';

/** After this many in a row the message may be the cause after all: it may end each database session. */
const maxInARow = 20;
const againMs = 1_000;
/** While a message waits for a consumer that handles it: Temporal may give the next tries to this one again. */
const longestElsewhereMs = 4_000;
/** The quick retries before it count as the first try. */
const firstParkedTry = 2;
/** Beyond this many keys those that failed longest ago begin again. */
const maxKeys = 10_000;

/** Gives back tries of parked messages that failed for reasons outside the message. */
export class UncountedTries<Tx extends Transaction> {
  readonly #context: ConsumerContext<Tx>;
  readonly #inARow = new Map<string, number>();

  constructor(context: ConsumerContext<Tx>) {
    this.#context = context;
  }

  /** @returns milliseconds until the key is tried again; `undefined`: the try counts */
  pauseMsAfter(
    { keyId, messages, found }: Begun<Tx>,
    entry: 'go' | 'probe',
    error: unknown,
  ): number | undefined {
    const { breaker } = this.#context;
    const [{ address, attempts }] = messages;
    if (verdictOf(error) !== undefined) {
      this.#inARow.delete(keyId);
      return undefined;
    }
    const arrived = found[0]?.arrived;
    if (arrived !== undefined && refusalReasonOf(error) === undefined) {
      const failure = { error, bodies: messages.map(({ body }) => body) };
      if (entry === 'probe') breaker.probeFailed(address, failure);
      // The breaker counts only the first failure of a parked key.
      const paused =
        attempts <= firstParkedTry
          ? breaker.failed(address, keyNameOf(arrived), failure, true)
          : breaker.isPaused(address);
      if (paused) return this.#pausedMs(address);
    }
    return this.#pauseMsAfterFault(keyId, error);
  }

  #pausedMs(address: string): number {
    return this.#context.breaker.intervalMs(address) * (1 + Math.random());
  }

  /** A missing handler belongs to another consumer or to a later deployment, so there is no limit to the tries for it. */
  #pauseMsAfterFault(keyId: string, error: unknown): number | undefined {
    const before = this.#inARow.get(keyId) ?? 0;
    const elsewhere = error instanceof OutboxError && error.code === 'OUTBOX_HANDLER_MISSING';
    if (!elsewhere && (faultOf(error) === undefined || before >= maxInARow)) {
      this.#inARow.delete(keyId);
      return undefined;
    }
    remember(this.#inARow, keyId, before + 1, maxKeys);
    const pauseMs = nextPauseMs(before);
    return elsewhere ? Math.min(pauseMs, longestElsewhereMs) : pauseMs;
  }

  /** A try has succeeded; what had expired was not tried, and says nothing about a dependency. */
  ended({ keyId, messages: [first], found }: Begun<Tx>, entry: 'go' | 'probe'): void {
    if (this.#inARow.size > 0) this.#inARow.delete(keyId);
    const { breaker } = this.#context;
    if (!breaker.watches(first.address)) return;
    const handled = found.find((one) => one?.expired === false);
    if (handled !== undefined) breaker.succeeded(first.address, keyNameOf(handled.arrived), entry);
    else if (entry === 'probe' && found[0]?.expired === true) breaker.probeVoid(first.address);
  }

  /** Gives back a try of a paused address. The pause is random, so that its keys do not all return at once. */
  giveBackPaused(keyId: string, message: BegunTry, signal: AbortSignal): Promise<ParkedKeyAnswer> {
    return this.giveBack(keyId, message, this.#pausedMs(message.address), signal);
  }

  /** Repeats until the database answers: otherwise the try would count. */
  async giveBack(
    keyId: string,
    message: BegunTry,
    inMs: number,
    signal: AbortSignal,
  ): Promise<ParkedKeyAnswer> {
    for (;;) {
      try {
        const returned = await this.#context.client.$transaction((tx) =>
          returnTry(sqlOf(tx), this.#context.rules.group, keyId, message, inMs),
        );
        return { kind: 'waiting', inMs: returned ? inMs : 0 };
      } catch (error) {
        if (faultOf(error) === undefined) throw error;
        await rest(againMs, signal);
        if (signal.aborted) return { kind: 'waiting', inMs };
      }
    }
  }
}
