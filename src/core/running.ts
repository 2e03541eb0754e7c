import type { Duration } from './duration.ts';
import { OutboxError } from './errors.ts';
import type { HealthRecord } from './health.ts';
import type { Table } from './options/collections.ts';
import { optionTable } from './options/option-table.ts';
import { duration, optional } from './options/values.ts';
import { orLate } from './or-late.ts';
import { rest } from './rest.ts';
import { startTimer } from './timer.ts';

/** How a relay or a consumer is stopped. */
export interface StopOptions {
  /**
   * How long the work in hand may take, more than 0 and at most 1 day. Then it is given up, and the stop ends within another
   * second. @defaultValue as long as it takes, bounded by the limits of transactions and transports
   */
  readonly timeout?: Duration;
}

const stopOptions = optionTable('stop()', {
  timeout: optional(duration(1, '1 day')),
} satisfies Table<StopOptions>);

/** How long to wait for connections to close if nothing is in hand and a server is unreachable. */
const goodbyeMs = 300;
/** During a stop, a server that has not answered for this long counts as unreachable. */
const silentMs = 250;
/** How long work that was given up, after the time of a stop is over, may still end by itself. */
const graceMs = 800;
/** How long the last steps may take, when nothing else is waited for. */
const lastMs = 100;
const lookEveryMs = 50;

/** The running parts of a relay or consumer, ended in reverse order, and its health. */
export class Running {
  readonly health: HealthRecord;
  readonly #ends: (() => Promise<unknown>)[] = [];
  readonly #stopping = new AbortController();
  readonly #deadline = new AbortController();
  readonly #inHand: (() => boolean)[] = [];
  /** True once the stop no longer waits for anything. */
  #left = false;
  #ending: Promise<void> | undefined;
  #over: () => void = () => undefined;
  /** Resolves when all parts have ended, or are no longer waited for. */
  readonly over = new Promise<void>((resolve) => {
    this.#over = resolve;
  });

  constructor(health: HealthRecord) {
    this.health = health;
  }

  /** Adds a part to be ended with the others; it is ended at once if these have already ended. */
  add(end: () => Promise<unknown>): void {
    if (this.#left) void end().catch(() => undefined);
    else this.#ends.push(end);
  }

  /** While one of these is true, a stop waits, even if a server is unreachable. */
  inHand(look: () => boolean): void {
    this.#inHand.push(look);
  }

  /** Fires when a stop begins. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Fires when a stop no longer waits for the work in hand. */
  get deadline(): AbortSignal {
    return this.#deadline.signal;
  }

  /** A second call ends with the first one, and may give it less time. @throws OutboxError `OUTBOX_OPTION_INVALID` */
  async stop(options: StopOptions = {}): Promise<void> {
    const { timeout: timeoutMs } = stopOptions.read(options);
    const timer = timeoutMs === undefined ? undefined : startTimer(() => this.#deadline.abort(), timeoutMs);
    try {
      await this.end();
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends all parts, even after one that fails. A second call returns the promise of the first one. */
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

  /** Resolves when waiting is pointless; all parts have at least begun to end. */
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
    await orLate(all, lastMs);
  }
}

function stopped(): OutboxError {
  return new OutboxError('OUTBOX_STOPPED', 'It was stopped before it started.');
}
