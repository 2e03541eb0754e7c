import type { IncomingBatch, Source, Subscribed } from '../../brokers/source.ts';
import { Loop } from '../../core/loop.ts';
import { receiptsAddress } from '../../core/receipt.ts';
import { aborted } from '../../core/rest.ts';
import { unlessStopped } from '../../core/unless-stopped.ts';
import type { ReceiptIntake } from '../../relay/receipts.ts';
import type { RelayReport } from '../../relay/report.ts';

/** How long one try to join may take; the broker removes a dead reader from the group after 10 s. */
const joinWithinMs = 20_000;
/** Between tries to join, and before a receipt is offered again. */
const againMs = 1_000;

export interface ReceiptReaderInput {
  readonly source: Source;
  /** The same for all relays of an installation, so that they share the receipts. */
  readonly group: string;
  readonly intake: Pick<ReceiptIntake, 'apply'>;
  readonly report: RelayReport;
}

/**
 * Reads the receipts at one broker while the relay runs, even if the broker is unreachable at the start. A receipt is
 * acknowledged after it has been applied.
 */
export class ReceiptReader {
  readonly #input: ReceiptReaderInput;
  readonly #tries = new Loop((stopping) => this.#try(stopping));

  constructor(input: ReceiptReaderInput) {
    this.#input = input;
  }

  start(): void {
    this.#tries.start();
  }

  /** Applies the receipts in progress, then leaves the group. */
  stop(): Promise<void> {
    return this.#tries.stop();
  }

  /** Reads until the stop. @returns how long to wait after a failure */
  async #try(stopping: AbortSignal): Promise<number> {
    // A stop must not wait for a broker that does not answer; a reader that joins too late leaves by itself.
    const leave = (late: Subscribed): void => void late.stop().catch(() => undefined);
    try {
      const joined = await unlessStopped(this.#join(), stopping, leave);
      await aborted(stopping);
      await joined.stop();
    } catch (error) {
      if (error !== stopping.reason) this.#input.report({ type: 'error', during: 'receipts', error });
    }
    return againMs;
  }

  #join(): Promise<Subscribed> {
    const { source, group, report } = this.#input;
    return source.subscribe({
      addresses: [receiptsAddress],
      group,
      concurrency: 1,
      // Receipts from before the first join may confirm messages that a relay without a reader has sent.
      fromBeginning: true,
      joinWithinMs,
      batchSize: 1,
      handle: (batch) => this.#take(batch),
      assigned: () => undefined,
      disconnected: (error) => report({ type: 'error', during: 'receipts', error }),
    });
  }

  async #take(batch: IncomingBatch): Promise<void> {
    const { intake, report } = this.#input;
    for (const message of batch.messages) {
      if (!batch.mayBegin()) return;
      try {
        if (!(await intake.apply(message.body, batch.signal))) return batch.reject(message, againMs);
      } catch (error) {
        report({ type: 'error', during: 'receipts', error });
        return batch.reject(message, againMs);
      }
      batch.acknowledge(message);
    }
  }
}
