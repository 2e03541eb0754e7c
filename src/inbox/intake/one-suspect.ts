/**
 * Of the messages with which a process has died, a consumer has one in hand at a time. When it dies again, it was that
 * one, and those beside it are not taken for the same.
 */
export class OneSuspect {
  readonly #waiting: (() => void)[] = [];
  #taken = false;

  /** @returns whether the caller may have one in hand now; then it ends that with {@link free} */
  take(): boolean {
    if (this.#taken) return false;
    this.#taken = true;
    return true;
  }

  /** As {@link take}, when it is the caller's turn. */
  async wait(): Promise<void> {
    if (!this.take()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  free(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#taken = false;
    else next();
  }
}
