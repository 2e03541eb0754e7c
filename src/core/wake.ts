import { startTimer } from './timer.ts';

/** A wait that can be ended early. Calls of `ring` before a wait count once, and end it at once. */
export class Wake {
  #pending = false;
  #resolve: (() => void) | undefined;

  /** Ends the current wait, or the next one. */
  ring(): void {
    this.#pending = true;
    this.#resolve?.();
  }

  /** Whether `ring` was called since the last wait, or the last call of {@link answer}. */
  get rung(): boolean {
    return this.#pending;
  }

  /** The work that begins now covers all rings so far. */
  answer(): void {
    this.#pending = false;
  }

  /**
   * Resolves on `ring`, after `timeoutMs`, or when the signal fires.
   *
   * @param options with `ref: false` the wait does not keep the process alive
   */
  async wait(timeoutMs: number, signal: AbortSignal, { ref = true } = {}): Promise<void> {
    if (!this.#pending && !signal.aborted && timeoutMs > 0) {
      await new Promise<void>((resolve) => {
        const end = (): void => {
          clearTimeout(timer);
          signal.removeEventListener('abort', end);
          resolve();
        };
        const timer = startTimer(end, timeoutMs);
        if (!ref) timer.unref();
        signal.addEventListener('abort', end, { once: true });
        this.#resolve = end;
      });
    }
    this.#pending = false;
  }
}
