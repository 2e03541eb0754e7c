import { aborted, rest } from './rest.ts';
import { Wake } from './wake.ts';

/** A rest after a round, in milliseconds. */
export interface RoundRest {
  /** Until the next round. */
  readonly ms: number;
  /** The first of them, which a nudge does not shorten. */
  readonly keptMs: number;
}

export interface LoopOptions {
  /** With `false` a rest does not keep the process alive. @defaultValue true */
  readonly ref?: boolean;
  /** A stop does not wait for the round under way. @defaultValue false */
  readonly leaves?: boolean;
}

/** Works once; must not reject. @returns the rest until the next round; of a number of milliseconds a nudge ends all that is left */
type Round = (stopping: AbortSignal) => Promise<number | RoundRest>;

/** Rounds of work, one after the other with a rest in between, from the start to the stop. */
export class Loop {
  readonly #round: Round;
  readonly #ref: boolean;
  readonly #leaves: boolean;
  readonly #wake = new Wake();
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;

  constructor(round: Round, { ref = true, leaves = false }: LoopOptions = {}) {
    this.#round = round;
    this.#ref = ref;
    this.#leaves = leaves;
  }

  /** Fires when a stop begins. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /**
   * Begins the first round. A second call does nothing.
   *
   * @param afterMs how long to rest before it, whatever nudges there are; 0: not at all
   */
  start(afterMs = 0): void {
    this.#running ??= this.#run(afterMs);
  }

  /** Begins a round now, or as soon as the round under way has ended: it may have missed what there is to do. */
  nudge(): void {
    this.#wake.ring();
  }

  /** Begins no further round, and waits for the one under way. Never rejects. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(afterMs: number): Promise<void> {
    const { signal } = this.#stopping;
    const left = this.#leaves ? [aborted(signal)] : [];
    if (afterMs > 0) await rest(afterMs, signal, { ref: this.#ref });
    while (!signal.aborted) {
      this.#wake.answer();
      const ended = await Promise.race([this.#round(signal), ...left]);
      if (ended === undefined) return;
      const { ms, keptMs } = typeof ended === 'number' ? { ms: ended, keptMs: 0 } : ended;
      if (keptMs > 0) await rest(keptMs, signal, { ref: this.#ref });
      await this.#wake.wait(ms - keptMs, signal, { ref: this.#ref });
    }
  }
}

/**
 * A loop of looks that rests as long after each. A stop does not wait for the look under way: a question to a server that is away
 * takes seconds.
 *
 * @param look must not reject
 */
export function looking(look: (stopping: AbortSignal) => Promise<void>, everyMs: number): Loop {
  const round: Round = async (stopping) => {
    await look(stopping);
    return everyMs;
  };
  return new Loop(round, { leaves: true });
}
