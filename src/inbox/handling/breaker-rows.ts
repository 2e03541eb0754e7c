import { randomUUID } from 'node:crypto';
import { rest } from '../../core/rest.ts';
import { sqlOf, type Transaction } from '../../store/database/transaction.ts';
import {
  type BreakerOwner,
  breakerBeatMs,
  type PausedByBreaker,
  writeBreakers,
} from '../../store/inbox/breakers.ts';
import type { PausedAddress } from '../consumer-event.ts';
import type { TransactionClient } from '../transaction-client.ts';

export interface BreakerRowsInput<Tx extends Transaction> {
  readonly client: TransactionClient<Tx>;
  readonly group: string;
  readonly processInfo: Pick<BreakerOwner, 'host' | 'pid'>;
  /** The addresses that are paused now. */
  readonly paused: () => readonly PausedAddress[];
}

/** Shortest time between writes, however often probes fail. */
const restMs = 250;
/** Short limits: a failed write is repeated later. */
const patience = { maxWait: 2_000, timeout: 5_000 } as const;

/**
 * Writes the addresses that the breaker of this consumer pauses to the database, for `status`, and removes them when
 * they resume. Does nothing while no address is paused.
 *
 * Best effort: a failed write is retried later, and readers soon ignore rows that are left behind.
 */
export class BreakerRows<Tx extends Transaction> {
  readonly #input: BreakerRowsInput<Tx>;
  readonly #owner: BreakerOwner;
  readonly #stopping = new AbortController();
  /** Whether this consumer may have rows. */
  #written = false;
  #running: Promise<void> | undefined;
  #news = new AbortController();

  constructor(input: BreakerRowsInput<Tx>) {
    this.#input = input;
    this.#owner = { ...input.processInfo, group: input.group, consumer: randomUUID() };
  }

  /** To be called when an address pauses, resumes, or was probed. */
  nudge(): void {
    this.#news.abort();
    if (!this.#stopping.signal.aborted) this.#running ??= this.#run();
  }

  /** Removes its rows if the database is reachable. Never rejects. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    if (this.#written) await this.#write([]).catch(() => undefined);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      this.#news = new AbortController();
      const news = AbortSignal.any([signal, this.#news.signal]);
      await this.#write(this.#input.paused().map(wordOf)).catch(() => undefined);
      if (!this.#written && this.#input.paused().length === 0) break;
      await rest(restMs, signal, { ref: false });
      await rest(breakerBeatMs - restMs, news, { ref: false });
    }
    this.#running = undefined;
  }

  async #write(paused: readonly PausedByBreaker[]): Promise<void> {
    // Set before the write: a commit may succeed although its answer is lost.
    this.#written ||= paused.length > 0;
    await this.#input.client.$transaction((tx) => writeBreakers(sqlOf(tx), this.#owner, paused), patience);
    this.#written = paused.length > 0;
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
