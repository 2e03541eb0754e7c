import { randomUUID } from 'node:crypto';
import type { Partition } from '../brokers/source.ts';
import { rest } from '../core/rest.ts';
import { sqlOf, type Transaction } from '../store/database/transaction.ts';
import {
  consumerBeatMs,
  type OwnedPartitions,
  type OwnPresence,
  removeConsumer,
  writeConsumer,
} from '../store/inbox/consumers.ts';
import type { ConsumerProcess } from './consumer-plan.ts';
import type { TransactionClient } from './transaction-client.ts';

export interface ConsumerPresenceInput<Tx extends Transaction> {
  readonly client: TransactionClient<Tx>;
  readonly group: string;
  readonly processInfo: ConsumerProcess;
}

/** Shortest time between writes, however often partitions move. */
const restMs = 250;
/** Short limits: a failed write is repeated later. */
const patience = { maxWait: 2_000, timeout: 5_000 } as const;

/**
 * Records in the database that a consumer runs, and which partitions it owns, for `status`. Nothing depends on
 * it: a row that cannot be written is written later, and readers soon attribute a row that is left behind to a dead process.
 */
export class ConsumerPresence<Tx extends Transaction> {
  readonly #input: ConsumerPresenceInput<Tx>;
  readonly #id = randomUUID();
  readonly #owned = new Map<string, readonly Partition[]>();
  readonly #stopping = new AbortController();
  #news = new AbortController();
  #running: Promise<void> | undefined;

  constructor(input: ConsumerPresenceInput<Tx>) {
    this.#input = input;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** @param partitions all that the consumer owns of this source from now on */
  owns(source: string, partitions: readonly Partition[]): void {
    this.#owned.set(source, partitions);
    this.#news.abort();
  }

  /** Removes its row if the database is reachable. Never rejects. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    if (this.#running === undefined) return;
    // The row must not be written again after it was removed.
    await this.#running;
    await this.#input.client
      .$transaction((tx) => removeConsumer(sqlOf(tx), this.#id), patience)
      .catch(() => undefined);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      this.#news = new AbortController();
      const news = AbortSignal.any([signal, this.#news.signal]);
      await this.#input.client
        .$transaction((tx) => writeConsumer(sqlOf(tx), this.#row()), patience)
        .catch(() => undefined);
      await rest(restMs, signal, { ref: false });
      await rest(consumerBeatMs - restMs, news, { ref: false });
    }
  }

  #row(): OwnPresence {
    const { group, processInfo } = this.#input;
    return { id: this.#id, group, ...processInfo, partitions: byAddress([...this.#owned.values()].flat()) };
  }
}

function byAddress(owned: readonly Partition[]): readonly OwnedPartitions[] {
  const numbers = new Map<string, number[]>();
  for (const { address, partition } of owned)
    numbers.set(address, [...(numbers.get(address) ?? []), partition]);
  return [...numbers]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([address, partitions]) => ({ address, partitions: partitions.toSorted((a, b) => a - b) }));
}
