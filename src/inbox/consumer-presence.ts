import { randomUUID } from 'node:crypto';
import type { Partition } from '../brokers/source.ts';
import type { OwnRow } from '../core/own-row.ts';
import type { Transaction } from '../store/database/transaction.ts';
import {
  consumerBeatMs,
  type OwnedPartitions,
  type OwnPresence,
  removeConsumer,
  writeConsumer,
} from '../store/inbox/consumers.ts';
import type { ConsumerProcess } from './consumer-plan.ts';
import { consumerRow } from './consumer-row.ts';
import type { TransactionClient } from './transaction-client.ts';

export interface ConsumerPresenceInput {
  readonly client: TransactionClient<Transaction>;
  readonly group: string;
  readonly processInfo: ConsumerProcess;
}

/** Records in the database that a consumer runs, and which partitions it owns. */
export class ConsumerPresence {
  readonly #owned = new Map<string, readonly Partition[]>();
  readonly #row: OwnRow<OwnPresence>;

  constructor({ client, group, processInfo }: ConsumerPresenceInput) {
    const id = randomUUID();
    this.#row = consumerRow<OwnPresence>({
      client,
      beatMs: consumerBeatMs,
      row: () => ({ id, group, ...processInfo, partitions: byAddress([...this.#owned.values()].flat()) }),
      write: (sql, row) => (row === undefined ? removeConsumer(sql, id) : writeConsumer(sql, row)),
    });
  }

  start(): void {
    this.#row.start();
  }

  /** @param partitions all that the consumer owns of this source from now on */
  owns(source: string, partitions: readonly Partition[]): void {
    this.#owned.set(source, partitions);
    this.#row.nudge();
  }

  /** Removes its row if the database is reachable. Never rejects. */
  stop(): Promise<void> {
    return this.#row.stop();
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
