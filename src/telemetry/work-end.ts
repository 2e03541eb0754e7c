/** Why the effects of some work are lost. */
export interface WorkFailure {
  readonly error: unknown;
}

/** The end of the transaction that holds the effects of some work. */
export interface WorkEnd {
  /** Calls `tell` once, when the effects are committed, or lost. At once if that has happened. */
  onEnd(tell: (failure: WorkFailure | undefined) => void): void;
}

/** A {@link WorkEnd} that its owner tells. */
export class TransactionEnd implements WorkEnd {
  #waiting: ((failure: WorkFailure | undefined) => void)[] = [];
  #ended: { readonly failure: WorkFailure | undefined } | undefined;

  onEnd(tell: (failure: WorkFailure | undefined) => void): void {
    if (this.#ended !== undefined) tell(this.#ended.failure);
    else this.#waiting.push(tell);
  }

  /** The transaction begins, perhaps again: what it did before is rolled back. */
  begin(): void {
    this.#tell({ error: undefined });
  }

  end(failure: WorkFailure | undefined): void {
    this.#ended ??= { failure };
    this.#tell(this.#ended.failure);
  }

  #tell(failure: WorkFailure | undefined): void {
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const tell of waiting) tell(failure);
  }
}
