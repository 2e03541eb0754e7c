import { passCrashPoint } from '../core/crash-point.ts';
import { readReceipt } from '../core/receipt.ts';
import { rest } from '../core/rest.ts';
import { uuid } from '../core/uuid.ts';
import type { Database } from '../store/database/database.ts';
import { type Confirmed, confirmMessages, prolongParked } from '../store/message/confirm.ts';
import type { RelayReport } from './report.ts';

/** A settle locks its rows only for milliseconds. */
const againAfterMs = 25;
const triesAtOnce = 40;

export interface ReceiptIntakeInput {
  readonly database: Database;
  /** UUID of the installation; receipts of others are skipped. */
  readonly installation: string;
  readonly report: RelayReport;
}

/** Applies the receipts of consumers to the rows of this installation, whichever broker they arrive from. */
export class ReceiptIntake {
  readonly #input: ReceiptIntakeInput;

  constructor(input: ReceiptIntakeInput) {
    this.#input = input;
  }

  /**
   * Applies one receipt, to all of its rows or to those that are not locked. Idempotent; a record that is not a receipt, or
   * belongs to another installation, is skipped.
   *
   * @returns false if rows stayed locked for a second: the receipt must be offered again
   * @throws the database's error
   */
  async apply(body: Uint8Array | null, signal: AbortSignal): Promise<boolean> {
    const { installation, report } = this.#input;
    const receipt = readReceipt(new TextDecoder().decode(body ?? new Uint8Array()));
    if (typeof receipt === 'string') {
      report({ type: 'receipt-unreadable', reason: receipt });
      return true;
    }
    if (receipt.installation !== undefined && receipt.installation !== installation) return true;
    // Ids of messages from other senders may have any form.
    const ids = receipt.ids.filter((id) => uuid.test(id));
    if (receipt.state === 'processed') return this.#confirm(receipt.group, ids, signal);
    await prolongParked(this.#input.database, receipt.group, ids);
    return true;
  }

  async #confirm(group: string, ids: readonly string[], signal: AbortSignal): Promise<boolean> {
    let left = ids;
    for (let tries = 1; left.length > 0; tries += 1) {
      const { confirmed, locked } = await confirmMessages(this.#input.database, group, left);
      passCrashPoint('relay:confirmed');
      this.#tell(confirmed);
      left = locked;
      if (left.length === 0) break;
      if (tries >= triesAtOnce || signal.aborted) return false;
      await rest(againAfterMs, signal);
    }
    return true;
  }

  #tell(confirmed: readonly Confirmed[]): void {
    for (const { topic, count } of confirmed) {
      this.#input.report({ type: 'messages-confirmed', topic, count });
    }
  }
}
