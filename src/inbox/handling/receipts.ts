import { ownId } from '../../core/chosen-id.ts';
import { pauseAfter } from '../../core/pause-after.ts';
import { installationOf, type Receipt, receiptIdLimit } from '../../core/receipt.ts';
import { startTimer } from '../../core/timer.ts';
import type { ConsumerReport } from '../consumer-event.ts';
import type { Arrived } from './arrived.ts';

/** Sends receipts to the receipt address of the broker from which the messages came. */
export interface ReceiptSender {
  /** Resolves when the broker has stored all of them; rejects otherwise. Stored ones may be sent again. */
  send(receipts: readonly Receipt[]): Promise<void>;
  /** Ends connections. */
  close(): Promise<void>;
}

/** A message that was committed, now or before: its effects, or the message itself. */
export interface Handled {
  readonly id: string;
  readonly state: Receipt['state'];
  /** UUID of the installation that sent it, if its source has one. */
  readonly installation: string | undefined;
}

export interface ReceiptsInput {
  readonly group: string;
  readonly sender: ReceiptSender;
  readonly report: ConsumerReport;
}

/** Beyond this, the oldest are dropped: their messages are sent again, and the repeats get a receipt. */
const maxWaiting = 10_000;
const againMs = { first: 1_000, most: 30_000 } as const;

/**
 * Receipts of the messages that a consumer handled, collected until the fetched batch ends.
 *
 * Sending never fails a message: unsent receipts wait for the next batch or a timer, and the failure is reported.
 */
export class Receipts {
  readonly #input: ReceiptsInput;
  #waiting: Handled[] = [];
  #sending: Promise<void> | undefined;
  /** In a row. */
  #failures = 0;
  #notBefore = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  /** Dropped since the last report. */
  #dropped = 0;
  #closed = false;

  constructor(input: ReceiptsInput) {
    this.#input = input;
  }

  /** Number of messages whose receipt is not yet sent. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Adds a message whose effects are committed. Duplicates are added, too: their receipt may have been lost. */
  add(handled: Handled): void {
    this.#waiting.push(handled);
    // Otherwise the next flush sends all, so no more than the current batches is waiting.
    if (this.#pausing) this.#bound();
  }

  /** Adds a message if its topic asks this group for receipts. @returns whether it does */
  answer<Tx>({ id, incoming, route }: Arrived<Tx>, state: Receipt['state']): boolean {
    if (route.kind !== 'route' || route.topic.rules.confirm?.group !== this.#input.group) return false;
    this.add({ id: ownId(id), installation: installationOf(incoming.header('ce_source')), state });
    return true;
  }

  /** Sends waiting receipts. Never rejects; after a failure it pauses for a while, so that messages are not delayed. */
  async flush(): Promise<void> {
    // Another flush may be sending our receipts: return only after it has ended.
    while (this.#sending !== undefined) await this.#sending;
    if (this.#waiting.length === 0 || this.#pausing) return;
    this.#sending = this.#send();
    await this.#sending;
    this.#sending = undefined;
  }

  async #send(): Promise<void> {
    const mine = this.#waiting;
    this.#waiting = [];
    try {
      await this.#input.sender.send(receiptsOf(this.#input.group, mine));
      this.#failures = 0;
    } catch (error) {
      this.#keep(mine, error);
    }
  }

  /** Sends waiting receipts a last time and closes the connections. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#notBefore = Number.NEGATIVE_INFINITY;
    await this.flush();
    await this.#input.sender.close();
  }

  get #pausing(): boolean {
    return performance.now() < this.#notBefore;
  }

  #bound(): void {
    const excess = this.#waiting.length - maxWaiting;
    if (excess <= 0) return;
    this.#waiting.splice(0, excess);
    this.#dropped += excess;
  }

  #keep(unsent: readonly Handled[], error: unknown): void {
    this.#waiting = [...unsent, ...this.#waiting];
    this.#bound();
    this.#failures += 1;
    const retryInMs = pauseAfter(this.#failures, againMs);
    this.#notBefore = performance.now() + retryInMs;
    clearTimeout(this.#timer);
    // There may be no later message to trigger a flush.
    if (!this.#closed) this.#timer = startTimer(() => void this.flush(), retryInMs + 1);
    this.#input.report({
      type: 'receipts-unsent',
      waiting: this.#waiting.length,
      dropped: this.#dropped,
      error,
      retryInMs,
    });
    this.#dropped = 0;
  }
}

/** One receipt per installation and state, or several if there are too many ids for one. */
function receiptsOf(group: string, handled: readonly Handled[]): readonly Receipt[] {
  const alike = new Map<string, Omit<Receipt, 'group'> & { readonly ids: string[] }>();
  for (const { id, installation, state } of handled) {
    const name = `${state} ${installation}`;
    const found = alike.get(name);
    if (found === undefined) alike.set(name, { installation, state, ids: [id] });
    else found.ids.push(id);
  }
  return [...alike.values()].flatMap(({ installation, state, ids }) =>
    Array.from({ length: Math.ceil(ids.length / receiptIdLimit) }, (_, n) => ({
      group,
      installation,
      state,
      ids: ids.slice(n * receiptIdLimit, (n + 1) * receiptIdLimit),
    })),
  );
}
