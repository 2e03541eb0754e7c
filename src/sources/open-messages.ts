import type { IncomingMessage } from './source.ts';

/**
 * Which messages of one fetched batch are still open.
 *
 * Where a broker is told how far a group came, what counts is the unbroken row of acknowledged messages from the
 * first on: of messages, not of numbers, because offsets in a log have gaps.
 */
export class OpenMessages {
  readonly #messages: readonly IncomingMessage[];
  readonly #acknowledged: Uint8Array;
  /** Where the next one is expected: most are acknowledged in their order. */
  #expected = 0;
  #placeByOffset: Map<string, number> | undefined;
  /** Nothing from here on can be done in this batch. */
  #end: number;

  constructor(messages: readonly IncomingMessage[]) {
    this.#messages = messages;
    this.#acknowledged = new Uint8Array(messages.length);
    this.#end = messages.length;
  }

  /** A message of another batch is let pass without effect: to deliver once more is always right. */
  acknowledge(message: IncomingMessage): void {
    const place = this.#placeOf(message);
    if (place === undefined) return;
    this.#acknowledged[place] = 1;
    this.#expected = place + 1;
  }

  /** Keeps the message, and all behind it, open whatever is acknowledged. */
  reject(message: IncomingMessage): void {
    const place = this.#placeOf(message);
    if (place !== undefined) this.#end = Math.min(this.#end, place);
  }

  /** Whether anything is done so that the next offer begins behind it. */
  get moved(): boolean {
    return this.#acknowledged[0] === 1 && this.#end > 0;
  }

  /** The last message before the first open one; `undefined` when the first of all is open. */
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
