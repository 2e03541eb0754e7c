interface Shared<Result> {
  readonly result: Promise<Result>;
  readonly unwanted: AbortController;
  waiting: number;
}

/** Makes equal proofs that are asked for at the same time once, for all askers. */
export class SharedProofs<Result> {
  readonly #running = new Map<string, Shared<Result>>();

  /**
   * @param what equal for proofs that are equal
   * @param asker fires when the asker has gone
   * @param prove its signal fires when all who asked have gone: one of them decides nothing for the others
   */
  async of(
    what: string,
    asker: AbortSignal,
    prove: (unwanted: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const shared = this.#running.get(what) ?? this.#begin(what, prove);
    shared.waiting += 1;
    const leave = (): void => {
      shared.waiting -= 1;
      if (shared.waiting > 0) return;
      // At once: who asks from now on needs another one.
      this.#end(what, shared);
      shared.unwanted.abort();
    };
    if (asker.aborted) leave();
    else asker.addEventListener('abort', leave, { once: true });
    try {
      return await shared.result;
    } finally {
      asker.removeEventListener('abort', leave);
      this.#end(what, shared);
    }
  }

  #begin(what: string, prove: (unwanted: AbortSignal) => Promise<Result>): Shared<Result> {
    const unwanted = new AbortController();
    const shared = { result: prove(unwanted.signal), unwanted, waiting: 0 };
    this.#running.set(what, shared);
    return shared;
  }

  #end(what: string, shared: Shared<Result>): void {
    if (this.#running.get(what) === shared) this.#running.delete(what);
  }
}
