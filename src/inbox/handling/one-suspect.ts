/**
 * Lets a consumer process one message at a time of those that were in progress when a process died. If it dies again,
 * that message is the cause, and no other is blamed.
 */
export class OneSuspect {
  readonly #waiting: (() => void)[] = [];
  #taken = false;

  /** @returns whether the caller may process a suspect now; it must call {@link free} afterwards */
  take(): boolean {
    if (this.#taken) return false;
    this.#taken = true;
    return true;
  }

  /** Like {@link take}, but waits for its turn. */
  async wait(): Promise<void> {
    if (!this.take()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  free(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#taken = false;
    else next();
  }
}
