import type { IncomingBatch, IncomingMessage } from './source.ts';

/** What a source offers. */
export interface BatchOffer<Message extends IncomingMessage>
  extends Pick<IncomingBatch, 'address' | 'cut' | 'partition' | 'signal' | 'lost'> {
  readonly messages: readonly Message[];
  /** Whether a message that is open keeps those behind it open. @defaultValue true */
  readonly ordered?: boolean;
  /** False if no further message may begin, whatever the batch says. @defaultValue always true */
  readonly mayGoOn?: () => boolean;
}

const acknowledged = 1;
const rejected = 2;

/**
 * A batch of any source, and which of its messages are done.
 *
 * The offset to commit follows from the acknowledged messages without a gap from the first one on: a gap between messages, not
 * between offsets, because a log has gaps in its offsets.
 */
export class OfferedBatch<Message extends IncomingMessage = IncomingMessage> implements IncomingBatch {
  readonly address: string;
  readonly partition: number;
  readonly messages: readonly Message[];
  readonly signal: AbortSignal;
  readonly lost: AbortSignal;
  readonly cut: boolean;
  readonly #ordered: boolean;
  readonly #mayGoOn: () => boolean;
  /** By index. */
  readonly #states: Uint8Array;
  readonly #rests = new Map<IncomingMessage, number>();
  /** Index of the message that is expected next: most are acknowledged in order. */
  #expected = 0;
  #indexByOffset: Map<string, number> | undefined;

  constructor({ ordered = true, mayGoOn = () => true, ...offer }: BatchOffer<Message>) {
    this.address = offer.address;
    this.partition = offer.partition;
    this.messages = offer.messages;
    this.signal = offer.signal;
    this.lost = offer.lost;
    this.cut = offer.cut ?? false;
    this.#ordered = ordered;
    this.#mayGoOn = mayGoOn;
    this.#states = new Uint8Array(offer.messages.length);
  }

  // Own properties: a wrapper of a source may spread a batch.
  readonly mayBegin = (): boolean =>
    !this.signal.aborted && !(this.#ordered && this.#rests.size > 0) && this.#mayGoOn();

  /** Ignores a message of another batch: redelivery is always correct. */
  readonly acknowledge = (message: IncomingMessage): void => {
    const index = this.#indexOf(message);
    if (index === undefined) return;
    this.#expected = index + 1;
    if (this.#states[index] !== rejected) this.#states[index] = acknowledged;
  };

  /** Keeps the message open, whatever is acknowledged. */
  readonly reject = (message: IncomingMessage, afterMs: number): void => {
    const index = this.#indexOf(message);
    const own = index === undefined ? undefined : this.messages[index];
    if (index === undefined || own === undefined) return;
    this.#states[index] = rejected;
    this.#rests.set(own, Math.max(this.#rests.get(own) ?? 0, afterMs));
  };

  /** Whether the first message is done, so that the next offer begins after it. */
  get moved(): boolean {
    return this.#states[0] === acknowledged;
  }

  /** The messages that are done: if order is kept, those before the first open one. */
  done(): readonly Message[] {
    if (!this.#ordered) return this.messages.filter((_, index) => this.#states[index] === acknowledged);
    const open = this.#states.findIndex((state) => state !== acknowledged);
    return open === -1 ? this.messages : this.messages.slice(0, open);
  }

  /** How long a rejected message rests; `undefined` for any other. */
  restOf(message: IncomingMessage): number | undefined {
    return this.#rests.get(message);
  }

  /** The longest rest of a rejected message; `undefined` if none was rejected. */
  get restMs(): number | undefined {
    return this.#rests.size === 0 ? undefined : Math.max(...this.#rests.values());
  }

  #indexOf(message: IncomingMessage): number | undefined {
    if (this.messages[this.#expected] === message) return this.#expected;
    this.#indexByOffset ??= new Map(this.messages.map(({ offset }, index) => [offset, index]));
    const index = this.#indexByOffset.get(message.offset);
    const found = index === undefined ? undefined : this.messages[index];
    if (found?.partition !== message.partition || found.address !== message.address) return undefined;
    // Without offsets two messages may have the same one.
    const same = found === message ? -1 : this.messages.findIndex((one) => one === message);
    return same === -1 ? index : same;
  }
}
