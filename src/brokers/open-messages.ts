import type { IncomingMessage } from './source.ts';

/**
 * Which messages of one fetched batch are still open.
 *
 * The offset to commit follows from the acknowledged messages without a gap from the first one on: a gap between messages, not
 * between offsets, because a log has gaps in its offsets.
 */
export class OpenMessages {
  readonly #messages: readonly IncomingMessage[];
  readonly #acknowledged: Uint8Array;
  /** Index of the message that is expected next: most are acknowledged in order. */
  #expected = 0;
  #placeByOffset: Map<string, number> | undefined;
  /** Messages from this index on cannot be done in this batch. */
  #end: number;

  constructor(messages: readonly IncomingMessage[]) {
    this.#messages = messages;
    this.#acknowledged = new Uint8Array(messages.length);
    this.#end = messages.length;
  }

  /** Ignores a message of another batch: redelivery is always correct. */
  acknowledge(message: IncomingMessage): void {
    const place = this.#placeOf(message);
    if (place === undefined) return;
    this.#acknowledged[place] = 1;
    this.#expected = place + 1;
  }

  /** Keeps the message and all later ones open, whatever is acknowledged. */
  reject(message: IncomingMessage): void {
    const place = this.#placeOf(message);
    if (place !== undefined) this.#end = Math.min(this.#end, place);
  }

  /** Whether a message is done, so that the next offer begins after it. */
  get moved(): boolean {
    return this.#acknowledged[0] === 1 && this.#end > 0;
  }

  /** The last message before the first open one; `undefined` if the first message is open. */
  lastDone(): IncomingMessage | undefined {
    const open = this.#acknowledged.indexOf(0);
    const done = Math.min(open === -1 ? this.#end : open, this.#end);
    return done === 0 ? undefined : this.#messages[done - 1];
  }

  #placeOf(message: IncomingMessage): number | undefined {
    if (this.#messages[this.#expected] === message) return this.#expected;
    this.#placeByOffset ??= new Map(this.#messages.map(({ offset }, place) => [offset, place]));
    const place = this.#placeByOffset.get(message.offset);
    const found = place === undefined ? undefined : this.#messages[place];
    return found?.partition === message.partition && found.address === message.address ? place : undefined;
  }
}
