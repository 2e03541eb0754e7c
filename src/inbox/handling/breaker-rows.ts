import { randomUUID } from 'node:crypto';
import type { OwnRow } from '../../core/own-row.ts';
import type { Transaction } from '../../store/database/transaction.ts';
import {
  type BreakerOwner,
  breakerBeatMs,
  type PausedByBreaker,
  writeBreakers,
} from '../../store/inbox/breakers.ts';
import type { PausedAddress } from '../consumer-event.ts';
import { consumerRow } from '../consumer-row.ts';
import type { TransactionClient } from '../transaction-client.ts';

export interface BreakerRowsInput {
  readonly client: TransactionClient<Transaction>;
  readonly group: string;
  readonly processInfo: Pick<BreakerOwner, 'host' | 'pid'>;
  /** The addresses that are paused now. */
  readonly paused: () => readonly PausedAddress[];
}

/**
 * Writes the addresses that the breaker of this consumer pauses to the database, and removes them when they resume. Does nothing
 * while no address is paused.
 */
export class BreakerRows {
  readonly #rows: OwnRow<readonly PausedByBreaker[]>;

  constructor({ client, group, paused, processInfo }: BreakerRowsInput) {
    const owner = { ...processInfo, group, consumer: randomUUID() };
    this.#rows = consumerRow<readonly PausedByBreaker[]>({
      client,
      beatMs: breakerBeatMs,
      row: () => {
        const rows = paused().map(wordOf);
        return rows.length === 0 ? undefined : rows;
      },
      write: (sql, rows = []) => writeBreakers(sql, owner, rows),
    });
  }

  /** To be called when an address pauses, resumes, or was probed. */
  nudge(): void {
    this.#rows.nudge();
    this.#rows.start();
  }

  /** Removes its rows if the database is reachable. Never rejects. */
  stop(): Promise<void> {
    return this.#rows.stop();
  }
}

function wordOf(paused: PausedAddress): PausedByBreaker {
  const { address, errorText, failedKeys, keys, nextProbeAt, probes, since } = paused;
  return {
    address,
    pausedMs: Math.max(0, Date.now() - since.getTime()),
    failedKeys,
    keys,
    probes,
    nextProbeInMs: Math.max(0, nextProbeAt.getTime() - Date.now()),
    error: errorText,
  };
}
