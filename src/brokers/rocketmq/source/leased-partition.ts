import { OfferedBatch } from '../../offered-batch.ts';
import type { Partition, Subscription } from '../../source.ts';
import type { LeasedMessage } from './leased-message.ts';

/** Delay before messages that a handler left open are offered again, so that a handler that takes none uses no CPU. */
const againMs = 25;

/** The result of a batch. */
export interface Handed {
  readonly done: readonly LeasedMessage[];
  /** To be offered again: messages that were rejected or left open and, if order is kept, all later ones. */
  readonly open: readonly LeasedMessage[];
}

/** The messages of one partition that a member holds, in the order in which they are offered. */
export class LeasedPartition {
  readonly partition: Partition;
  readonly #ordered: boolean;
  #waiting: LeasedMessage[] = [];
  #inHand: readonly LeasedMessage[] = [];
  #lost: AbortController | undefined;

  /** @param ordered no message is done or offered before an earlier open one */
  constructor(partition: Partition, ordered: boolean) {
    this.partition = partition;
    this.#ordered = ordered;
  }

  get busy(): boolean {
    return this.#lost !== undefined;
  }

  /** All messages, including those that are being handled. */
  all(): readonly LeasedMessage[] {
    return [...this.#inHand, ...this.#waiting];
  }

  add(messages: readonly LeasedMessage[]): void {
    this.#waiting.push(...messages);
  }

  /** When the next message may be offered, by `performance.now()`; `undefined` if there is none. */
  nextAtMs(): number | undefined {
    if (this.#ordered) return this.#waiting[0]?.notBeforeMs;
    return this.#waiting.length === 0
      ? undefined
      : Math.min(...this.#waiting.map(({ notBeforeMs }) => notBeforeMs));
  }

  /**
   * Drops lost messages, and aborts the current batch if it contains one. With order, all that is held behind a lost one is
   * lost with it: the broker delivers the lost one first, and the others after it, when their time is over.
   */
  dropLost(): void {
    const told = this.#lost?.signal.aborted === true;
    // What has arrived since the batch was aborted is a delivery of its own, of the same messages.
    if (this.#ordered) loseBehind(told ? this.#waiting : this.all());
    this.#waiting = this.#waiting.filter(({ lost }) => !lost);
    if (this.#inHand.some(({ lost }) => lost)) this.#lost?.abort();
  }

  /** Removes and returns all waiting messages. */
  drain(): readonly LeasedMessage[] {
    return this.#waiting.splice(0);
  }

  /** Hands over one batch of due messages, and keeps those that were not done. Must not be called while {@link LeasedPartition.busy}. */
  async hand(
    { batchSize, handle }: Pick<Subscription, 'batchSize' | 'handle'>,
    stopping: AbortSignal,
  ): Promise<Handed> {
    const taken = this.#take(Math.max(1, batchSize));
    if (taken.length === 0) return { done: [], open: [] };
    const lost = new AbortController();
    this.#lost = lost;
    this.#inHand = taken;
    const batch = new OfferedBatch({
      ...this.partition,
      messages: taken.map(({ incoming }) => incoming),
      signal: AbortSignal.any([stopping, lost.signal]),
      lost: lost.signal,
      ordered: this.#ordered,
    });
    try {
      await handle(batch);
    } finally {
      // A renewal may have found one lost that has not reported it yet.
      this.dropLost();
      this.#inHand = [];
      this.#lost = undefined;
    }
    return this.#settle(taken, batch);
  }

  #take(count: number): readonly LeasedMessage[] {
    const nowMs = performance.now();
    const due = (message: LeasedMessage): boolean => message.notBeforeMs <= nowMs;
    const wait = this.#ordered ? this.#waiting.findIndex((message) => !due(message)) : -1;
    const free = this.#ordered
      ? this.#waiting.slice(0, wait === -1 ? undefined : wait)
      : this.#waiting.filter(due);
    const taken = free.slice(0, count);
    const gone = new Set(taken);
    this.#waiting = this.#waiting.filter((message) => !gone.has(message));
    return taken;
  }

  #settle(taken: readonly LeasedMessage[], batch: OfferedBatch): Handed {
    const isDone = new Set(batch.done());
    const done = taken.filter(({ incoming }) => isDone.has(incoming));
    const open = taken.filter(({ incoming }) => !isDone.has(incoming));
    const nowMs = performance.now();
    for (const message of open) message.notBeforeMs = nowMs + (batch.restOf(message.incoming) ?? againMs);
    if (this.#ordered) for (const message of open.slice(1)) message.notBeforeMs = 0;
    // In order, the first open message waits for the longest rejection of the batch, so that all later ones wait, too.
    const longest = batch.restMs ?? 0;
    const [first] = open;
    if (this.#ordered && first !== undefined && longest > 0) first.notBeforeMs = nowMs + longest;
    this.#waiting = [...open.filter(({ lost }) => !lost), ...this.#waiting];
    return { done, open };
  }
}

function loseBehind(row: readonly LeasedMessage[]): void {
  const first = row.findIndex(({ lost }) => lost);
  if (first === -1) return;
  for (const message of row.slice(first)) message.lost = true;
}
