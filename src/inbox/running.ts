import { durationMs } from '../core/duration.ts';
import { OutboxError } from '../core/errors.ts';
import type { StopOptions } from './consumer-interface.ts';

const longestStopMs = 24 * 60 * 60 * 1_000;

/** What runs, to be ended in the reverse order. */
export class Running {
  readonly #ends: (() => Promise<unknown>)[] = [];
  readonly #deadline = new AbortController();
  #ending: Promise<void> | undefined;

  add(end: () => Promise<unknown>): void {
    this.#ends.push(end);
  }

  /** Fires when a stop waits no longer for what is in hand. */
  get deadline(): AbortSignal {
    return this.#deadline.signal;
  }

  /** @throws OutboxError `OUTBOX_OPTION_INVALID` */
  async stop({ within }: StopOptions = {}): Promise<void> {
    const withinMs = within === undefined ? undefined : durationMs(within);
    if (within !== undefined && (withinMs === undefined || withinMs <= 0 || withinMs > longestStopMs)) {
      throw new OutboxError(
        'OUTBOX_OPTION_INVALID',
        'The option "within" of a stop is not a duration of more than 0 and at most 1 day.',
        { details: { option: 'within' } },
      );
    }
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
    const failures: unknown[] = [];
    for (const end of this.#ends.splice(0).toReversed())
      await end().catch((error: unknown) => void failures.push(error));
    if (failures.length > 0) throw failures[0];
  }
}
