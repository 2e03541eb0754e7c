import { setTimeout as delay } from 'node:timers/promises';
import type { Transaction } from '../store/transaction.ts';
import type { Applier, Outcome } from './applier.ts';
import type { Arrived } from './arrived.ts';
import type { ConsumerReport, Position } from './consumer-event.ts';
import type { Tally } from './consumer-counts.ts';
import type { FailingPartitions } from './failing-partitions.ts';
import { nextPauseMs } from './retry-pace.ts';

export interface OneByOneOptions<Tx extends Transaction> {
  readonly applier: Applier<Tx>;
  readonly quickRetriesMs: readonly number[];
  readonly report: ConsumerReport;
  readonly tally: Tally;
  readonly failing: FailingPartitions;
}

/** What became of one message. */
export type Settled =
  | { readonly kind: 'done'; readonly outcome: Outcome; readonly error: unknown }
  /** The partition is lost, or this consumer stops. */
  | { readonly kind: 'given-up' }
  /** The database does not keep it either. */
  | { readonly kind: 'rejected'; readonly afterMs: number };

/** Applies single messages: quick tries in place, and then it is parked. */
export class OneByOne<Tx extends Transaction> {
  readonly #options: OneByOneOptions<Tx>;

  constructor(options: OneByOneOptions<Tx>) {
    this.#options = options;
  }

  async settle(message: Arrived<Tx>, signal: AbortSignal): Promise<Settled> {
    const { applier, quickRetriesMs, report, tally } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const [outcome = 'duplicate'] = await applier.apply([message], attempt);
        return { kind: 'done', outcome, error: undefined };
      } catch (error) {
        tally.failures += 1;
        report({ type: 'failed', ...positionOf(message), attempt, error });
        const pauseMs = quickRetriesMs[attempt - 1];
        if (pauseMs === undefined) return this.park(message, 'error', error);
        await delay(pauseMs, undefined, { signal }).catch(() => undefined);
        if (signal.aborted) return { kind: 'given-up' };
      }
    }
  }

  /** Keeps the message for later, so that those of other keys go on. */
  async park(message: Arrived<Tx>, cause: 'error' | 'killed', error: unknown): Promise<Settled> {
    const { applier, failing, report } = this.#options;
    try {
      const outcome = await applier.keep(message, cause, error);
      return { kind: 'done', outcome, error };
    } catch (unkept) {
      const position = positionOf(message);
      const afterMs = nextPauseMs(failing.attempts(position));
      failing.failed(position, message.topic, unkept);
      const attempt = failing.attempts(position);
      report({ type: 'partition-paused', ...position, attempt, error: unkept, retryInMs: afterMs });
      return { kind: 'rejected', afterMs };
    }
  }
}

export function positionOf<Tx>({ incoming: { address, partition, offset } }: Arrived<Tx>): Position {
  return { address, partition, offset };
}
