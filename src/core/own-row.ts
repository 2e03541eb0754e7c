import { Loop } from './loop.ts';
import { aborted } from './rest.ts';

export interface OwnRowInput<Row> {
  /** What the row says now; `undefined`: there is none. */
  readonly row: () => Row | undefined;
  /** Writes the row, also if it is gone, or removes it. */
  readonly write: (row: Row | undefined) => Promise<void>;
  /** Between writes. */
  readonly beatMs: number;
  /** Called before each write, to learn what the row says. A stop does not wait for it. Must not reject. */
  readonly learn?: (stopping: AbortSignal) => Promise<void>;
}

/** Shortest time between writes, however often it is nudged. */
const restMs = 250;

/**
 * A row of this process in the database, by which others see that it runs, and what it does.
 *
 * Best effort: what cannot be written is written later, and readers soon ignore a row that is left behind. Its timers keep no
 * process alive.
 */
export class OwnRow<Row> {
  readonly #input: OwnRowInput<Row>;
  readonly #beats = new Loop((stopping) => this.#beat(stopping), { ref: false });
  /** Whether there may be a row. */
  #there = false;

  constructor(input: OwnRowInput<Row>) {
    this.#input = input;
  }

  /** Writes it from now on; a second call does nothing. */
  start(): void {
    this.#beats.start();
  }

  /** It says something else now. */
  nudge(): void {
    this.#beats.nudge();
  }

  /** Removes it, after the write under way, if the database is reachable. Never rejects. */
  async stop(): Promise<void> {
    await this.#beats.stop();
    if (this.#there) await this.#write(undefined);
  }

  async #beat(stopping: AbortSignal): Promise<{ readonly ms: number; readonly keptMs: number }> {
    const { beatMs, learn, row } = this.#input;
    if (learn !== undefined) await Promise.race([learn(stopping), aborted(stopping)]);
    if (!stopping.aborted) await this.#write(row());
    return { ms: this.#there ? beatMs : Number.POSITIVE_INFINITY, keptMs: restMs };
  }

  async #write(row: Row | undefined): Promise<void> {
    // Set before the write: a commit may succeed although its answer is lost.
    this.#there ||= row !== undefined;
    try {
      await this.#input.write(row);
      this.#there = row !== undefined;
    } catch {
      // The next write says the same.
    }
  }
}
