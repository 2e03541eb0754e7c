import type { Hold, OutgoingMessage } from '../transport.ts';

/** The outcome of a refused message. */
export type PlannedRefusal = 'rejected' | 'permanent';

/** Decides whether a message is refused, and with which outcome; `undefined` accepts it. */
export type RefusalRule = (message: OutgoingMessage) => PlannedRefusal | undefined;

/** Faults of a memory transport, in effect until {@link MemoryFaults.heal}. */
export interface MemoryFaults {
  /** Refuses the messages that the rule selects. */
  refuse(rule: RefusalRule): void;
  /** Makes the topic or the whole transport unreachable; nothing is stored. @defaultValue the transport */
  hold(scope?: Hold['scope'], reason?: string): void;
  /** Makes one partition of every address unreachable; partitions count from 0. */
  failPartition(partition: number): void;
  /** Of the next batch that stores a message, the answer is lost: what it stored is reported as perhaps stored. */
  loseNextAnswer(): void;
  /** Serves the partitions of a batch in reverse, and lets batches that run at the same time overtake each other. */
  reorder(): void;
  /** Ends every fault. */
  heal(): void;
}

/** The faults, as the transport reads them. */
export class PlannedFaults implements MemoryFaults {
  #refusal: RefusalRule = () => undefined;
  #hold: Hold | undefined;
  readonly #failedPartitions = new Set<number>();
  #lostAnswers = 0;
  #reversed = false;

  refuse(rule: RefusalRule): void {
    this.#refusal = rule;
  }

  hold(scope: Hold['scope'] = 'transport', reason = 'put on hold by a test'): void {
    this.#hold = { scope, reason };
  }

  failPartition(partition: number): void {
    this.#failedPartitions.add(partition);
  }

  loseNextAnswer(): void {
    this.#lostAnswers += 1;
  }

  reorder(): void {
    this.#reversed = true;
  }

  heal(): void {
    this.#refusal = () => undefined;
    this.#hold = undefined;
    this.#failedPartitions.clear();
    this.#lostAnswers = 0;
    this.#reversed = false;
  }

  refusalOf(message: OutgoingMessage): PlannedRefusal | undefined {
    return this.#refusal(message);
  }

  get currentHold(): Hold | undefined {
    return this.#hold;
  }

  get reordered(): boolean {
    return this.#reversed;
  }

  holdOf(partition: number): Hold | undefined {
    if (this.#hold !== undefined) return this.#hold;
    if (!this.#failedPartitions.has(partition)) return undefined;
    return { scope: 'topic', reason: `partition ${partition} failed by a test` };
  }

  takeLostAnswer(): boolean {
    if (this.#lostAnswers === 0) return false;
    this.#lostAnswers -= 1;
    return true;
  }
}
