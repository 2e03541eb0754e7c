import type { IncomingBatch } from '../../brokers/source.ts';
import type { Transaction } from '../../store/database/transaction.ts';
import { type Applied, counterOf, eventOf } from '../applied.ts';
import type { Arrived } from '../handling/arrived.ts';
import type { IntakeContext } from './intake-context.ts';

/** The last step of every message: reports its outcome to all who want it. */
export class Outcomes<Tx extends Transaction> {
  readonly #context: IntakeContext<Tx>;

  constructor(context: IntakeContext<Tx>) {
    this.#context = context;
  }

  /** Counts and reports the outcome, adds the receipt, and acknowledges the message. */
  end(batch: IncomingBatch, message: Arrived<Tx>, applied: Applied): void {
    const { failing, heard, known, queues, receipts, report, tally } = this.#context;
    const { kind } = applied;
    tally.count(counterOf(applied), message.topic);
    failing.settled(message.incoming);
    if (kind === 'duplicate' || kind === 'kept') known.expectMore();
    if (kind === 'parked') {
      this.#context.onParked();
      queues.queued(message);
    }
    if (kind === 'failed') this.#context.onFailed();
    const done = kind === 'handled' || kind === 'duplicate' || kind === 'expired';
    receipts?.answer(message, done ? 'processed' : 'parked');
    if (heard) report(eventOf(message, applied, 1));
    batch.acknowledge(message.incoming);
  }

  /** Measures the handled messages, and passes them to the filter, if there is one. */
  async note(messages: readonly Arrived<Tx>[], applied: readonly (Applied | undefined)[]): Promise<void> {
    const { known, metrics } = this.#context;
    if (!known.filters && metrics === undefined) return;
    const handled = messages.filter((_, n) => applied[n]?.kind === 'handled');
    metrics?.effects(handled);
    if (known.filters && handled.length > 0) await known.note(handled.map(({ id }) => id));
  }
}
