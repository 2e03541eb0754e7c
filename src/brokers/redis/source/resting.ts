import type { IncomingMessage } from '../../source.ts';

/** Messages of an address without order that are open, and stay with this member until they may be offered again. */
export class Resting {
  /** By offset: until when they rest, by `performance.now()`. */
  readonly #kept = new Map<string, { readonly message: IncomingMessage; readonly untilMs: number }>();

  get size(): number {
    return this.#kept.size;
  }

  /** How long until one of them may be offered, 0 or less if one may now; `Infinity` without any. */
  get nextInMs(): number {
    let first = Number.POSITIVE_INFINITY;
    for (const { untilMs } of this.#kept.values()) first = Math.min(first, untilMs);
    return first - performance.now();
  }

  keep(message: IncomingMessage, restMs: number): void {
    this.#kept.set(message.offset, { message, untilMs: performance.now() + restMs });
  }

  /** Those of the messages that do not rest: the server returns again what is open. */
  without(messages: readonly IncomingMessage[]): readonly IncomingMessage[] {
    return this.#kept.size === 0 ? messages : messages.filter(({ offset }) => !this.#kept.has(offset));
  }

  /** Takes those that may be offered now. */
  takeDue(): readonly IncomingMessage[] {
    const nowMs = performance.now();
    const due = [...this.#kept.values()].filter(({ untilMs }) => untilMs <= nowMs);
    for (const { message } of due) this.#kept.delete(message.offset);
    return due.map(({ message }) => message);
  }

  /** What the member has lost, or reads again. */
  clear(): void {
    this.#kept.clear();
  }
}
