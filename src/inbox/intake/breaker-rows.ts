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
  readonly place: Pick<BreakerOwner, 'host' | 'pid'>;
  /** What pauses now. */
  readonly paused: () => readonly PausedAddress[];
}

/** Between writes, however often probes fail. */
const restMs = 250;
/** A later word is as good. */
const patience = { maxWait: 2_000, timeout: 5_000 } as const;

/**
 * Says in the database which addresses the breaker of this consumer pauses, so that `status` can tell, and takes its word
 * back when they go on. While nothing pauses it does nothing at all.
 *
 * Nothing depends on it: a row that cannot be written is written later, and one that is left behind soon reads as gone.
 */
export class BreakerRows<Tx extends Transaction> {
  readonly #input: BreakerRowsInput<Tx>;
  readonly #owner: BreakerOwner;
  readonly #stopping = new AbortController();
  /** There may be rows of this consumer. */
  #written = false;
  #running: Promise<void> | undefined;
  #news = new AbortController();

  constructor(input: BreakerRowsInput<Tx>) {
    this.#input = input;
    this.#owner = { ...input.place, group: input.group, consumer: randomUUID() };
  }

  /** An address pauses, goes on, or has been probed. */
  nudge(): void {
    this.#news.abort();
    if (!this.#stopping.signal.aborted) this.#running ??= this.#run();
  }

  /** Takes its word back, if the database answers. Does not reject. */
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
    // Before it is known: a commit whose answer is lost leaves rows, too.
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
