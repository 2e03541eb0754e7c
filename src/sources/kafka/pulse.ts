/** What the coordinator answers to a member that it has none of any more. */
const out: ReadonlySet<unknown> = new Set(['FENCED_INSTANCE_ID', 'ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID']);
/** It knows the member, and waits until what it has in hand has ended. */
const joiningAgain = 'REBALANCE_IN_PROGRESS';

/** Tells from the answers to heartbeats whether a member still has its partitions. */
export class Pulse {
  readonly #lost = new AbortController();
  readonly #sessionTimeoutMs: number;
  /** By `performance.now()`. A process that was frozen finds that it was long ago. */
  #heardAtMs = performance.now();

  /** @param sessionTimeoutMs without a sign of life for so long a member is out of its group */
  constructor(sessionTimeoutMs: number) {
    this.#sessionTimeoutMs = sessionTimeoutMs;
  }

  /** Fires when the group has gone on without the member. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** The coordinator has answered well. */
  heard(): void {
    this.#heardAtMs = performance.now();
  }

  failed(error: unknown): void {
    const type = typeof error === 'object' && error !== null && 'type' in error ? error.type : undefined;
    if (out.has(type)) this.#lost.abort();
    else if (type === joiningAgain) this.heard();
  }

  /** To be called before each heartbeat. */
  look(): void {
    if (performance.now() - this.#heardAtMs > this.#sessionTimeoutMs) this.#lost.abort();
  }
}
