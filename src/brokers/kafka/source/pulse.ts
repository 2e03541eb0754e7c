/** Error types of heartbeats of a member that the coordinator no longer knows. */
const out: ReadonlySet<unknown> = new Set(['FENCED_INSTANCE_ID', 'ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID']);
/** The coordinator still knows the member, and waits for it to finish its batches. */
const joiningAgain = 'REBALANCE_IN_PROGRESS';

/** Derives from the heartbeat responses whether a member still owns its partitions. */
export class Pulse {
  readonly #lost = new AbortController();
  readonly #sessionTimeoutMs: number;
  /** By `performance.now()`, so that a process that was frozen notices how much time has passed. */
  #heardAtMs = performance.now();

  /** @param sessionTimeoutMs after this time without a heartbeat, a member is out of its group */
  constructor(sessionTimeoutMs: number) {
    this.#sessionTimeoutMs = sessionTimeoutMs;
  }

  /** Fires when the group has continued without the member. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Must be called when a heartbeat succeeds. */
  heard(): void {
    this.#heardAtMs = performance.now();
  }

  failed(error: unknown): void {
    const type = typeof error === 'object' && error !== null && 'type' in error ? error.type : undefined;
    if (out.has(type)) this.#lost.abort();
    else if (type === joiningAgain) this.heard();
  }

  /** Must be called before each heartbeat. */
  look(): void {
    if (performance.now() - this.#heardAtMs > this.#sessionTimeoutMs) this.#lost.abort();
  }
}
