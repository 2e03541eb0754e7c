import { setTimeout as delay } from 'node:timers/promises';
import { type Duration, durationMs } from './duration.ts';
import { OutboxError } from './errors.ts';
import type { HealthRecord } from './health.ts';
import { assertOptions } from './option-names.ts';
import { rest } from './rest.ts';

/** How a relay or a consumer is stopped. */
export interface StopOptions {
  /**
   * How long what is in hand may take, more than 0 and at most 1 day. Then it is given up, and a second later at most the stop
   * is over. @defaultValue as long as it takes, which the limits of transactions and transports bound
   */
  readonly within?: Duration;
}

const longestStopMs = 24 * 60 * 60 * 1_000;
/** Nothing in hand, and a server away: so long its goodbye is waited for. */
const goodbyeMs = 300;
/** While stopping, whoever has not answered for so long counts as away. */
const silentMs = 250;
/** After the time of a stop is over, what was given up may end by itself for so long. */
const graceMs = 800;
/** What is begun last, when nothing else is waited for, has so long. */
const lastMs = 100;
const lookEveryMs = 50;

/** What runs, to be ended in the reverse order, with its health. */
export class Running {
  readonly health: HealthRecord;
  readonly #ends: (() => Promise<unknown>)[] = [];
  readonly #stopping = new AbortController();
  readonly #deadline = new AbortController();
  readonly #inHand: (() => boolean)[] = [];
  /** Nothing is waited for any longer. */
  #left = false;
  #ending: Promise<void> | undefined;
  #over: () => void = () => undefined;
  /** Resolves when all has ended, or nobody waits for it any longer. */
  readonly over = new Promise<void>((resolve) => {
    this.#over = resolve;
  });

  constructor(health: HealthRecord) {
    this.health = health;
  }

  /** To be ended with the others; at once when these have ended. */
  add(end: () => Promise<unknown>): void {
    if (this.#left) void end().catch(() => undefined);
    else this.#ends.push(end);
  }

  /** While one of these is true, a stop waits, whatever is away. */
  inHand(look: () => boolean): void {
    this.#inHand.push(look);
  }

  /** Fires when a stop begins. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Fires when a stop waits no longer for what is in hand. */
  get deadline(): AbortSignal {
    return this.#deadline.signal;
  }

  /** A second call ends with the first one, and may give it less time. @throws OutboxError `OUTBOX_OPTION_INVALID` */
  async stop(options: StopOptions = {}): Promise<void> {
    const withinMs = stopWithinMs(options);
    const timer = withinMs === undefined ? undefined : setTimeout(() => this.#deadline.abort(), withinMs);
    try {
      await this.end();
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends all, also those behind one that fails. A second call is the first one. */
  end(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end(): Promise<void> {
    this.health.state = 'stopping';
    this.#stopping.abort(stopped());
    const ended = new AbortController();
    try {
      await Promise.race([this.#inOrder(), this.#untilPointless(ended.signal)]);
    } finally {
      ended.abort();
      this.#left = true;
      this.health.state = 'stopped';
      this.#over();
    }
  }

  async #inOrder(): Promise<void> {
    const failures: unknown[] = [];
    for (let end = this.#ends.pop(); end !== undefined; end = this.#ends.pop())
      await end().catch((error: unknown) => void failures.push(error));
    if (failures.length > 0) throw failures[0];
  }

  /** Resolves when nothing more is to be expected, and the rest was begun at least. */
  async #untilPointless(ended: AbortSignal): Promise<void> {
    const waiting = { vainSince: Infinity, overdueSince: Infinity };
    for (;;) {
      await rest(lookEveryMs, ended, { ref: false });
      if (ended.aborted) return;
      const now = performance.now();
      const vain = this.health.isAway(silentMs) && !this.#inHand.some((look) => look());
      waiting.vainSince = vain ? Math.min(waiting.vainSince, now) : Infinity;
      if (this.#deadline.signal.aborted) waiting.overdueSince = Math.min(waiting.overdueSince, now);
      if (now - waiting.vainSince >= goodbyeMs || now - waiting.overdueSince >= graceMs) break;
    }
    const left = this.#ends.splice(0).toReversed();
    const all = Promise.allSettled(left.map((end) => end()));
    await Promise.race([all, delay(lastMs)]);
  }
}

function stopWithinMs(options: StopOptions): number | undefined {
  assertOptions('stop()', options, ['within']);
  const { within } = options;
  if (within === undefined) return undefined;
  const withinMs = durationMs(within);
  if (withinMs !== undefined && withinMs > 0 && withinMs <= longestStopMs) return withinMs;
  throw new OutboxError(
    'OUTBOX_OPTION_INVALID',
    'The option "within" of a stop is not a duration of more than 0 and at most 1 day.',
    { details: { option: 'within' } },
  );
}

function stopped(): OutboxError {
  return new OutboxError('OUTBOX_STOPPED', 'It was stopped before it had started.');
}
