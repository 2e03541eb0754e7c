import type { IncomingBatch } from '../../brokers/source.ts';
import type { Transaction } from '../../store/database/transaction.ts';
import { type Applied, counterOf, eventOf } from '../applied.ts';
import type { ConsumerContext } from '../consumer-context.ts';
import type { Arrived } from '../handling/arrived.ts';
import type { Receipts } from '../handling/receipts.ts';
import type { RouteTable } from '../route-table.ts';
import type { FailingPartitions } from './failing-partitions.ts';
import type { KeyQueues } from './key-queues.ts';
import type { KnownMessages } from './known-messages.ts';

/** Where the messages of an intake come from, and who is told of some. */
export interface IntakeSource<Tx extends Transaction> {
  readonly lookup: RouteTable<Tx>;
  /** Receipts for messages whose topic asks this group for them; `undefined` if no topic does. */
  readonly receipts: Receipts | undefined;
  /** Called when a message was parked. */
  readonly onParked: () => void;
  /** Called when a message was failed. */
  readonly onFailed: () => void;
}

/** What is told of the outcome of messages. */
interface Listeners<Tx extends Transaction> {
  readonly known: KnownMessages<Tx>;
  readonly queues: KeyQueues;
  readonly failing: FailingPartitions;
}

/** The last step of every message: tells all who want to know what became of it. */
export class Outcomes<Tx extends Transaction> {
  readonly #context: Pick<ConsumerContext<Tx>, 'heard' | 'report' | 'tally'>;
  readonly #source: IntakeSource<Tx>;
  readonly #listeners: Listeners<Tx>;

  constructor(
    context: Pick<ConsumerContext<Tx>, 'heard' | 'report' | 'tally'>,
    source: IntakeSource<Tx>,
    listeners: Listeners<Tx>,
  ) {
    this.#context = context;
    this.#source = source;
    this.#listeners = listeners;
  }

  /** Counts and reports the outcome, adds the receipt, and acknowledges the message. */
  end(batch: IncomingBatch, message: Arrived<Tx>, applied: Applied): void {
    const { heard, report, tally } = this.#context;
    const { onFailed, onParked, receipts } = this.#source;
    const { failing, known, queues } = this.#listeners;
    const { kind } = applied;
    tally.count(counterOf(applied));
    failing.settled(message.incoming);
    if (kind === 'duplicate' || kind === 'kept') known.expectMore();
    if (kind === 'parked') {
      onParked();
      queues.queued(message);
    }
    if (kind === 'failed') onFailed();
    receipts?.answer(message, kind === 'handled' || kind === 'duplicate' ? 'processed' : 'parked');
    if (heard) report(eventOf(message, applied, 1));
    batch.acknowledge(message.incoming);
  }

  /** Tells the filter, if there is one, which messages were handled. */
  async note(messages: readonly Arrived<Tx>[], applied: readonly (Applied | undefined)[]): Promise<void> {
    const { known } = this.#listeners;
    if (!known.filters) return;
    const handled = messages.filter((_, n) => applied[n]?.kind === 'handled');
    if (handled.length > 0) await known.note(handled.map(({ id }) => id));
  }
}
