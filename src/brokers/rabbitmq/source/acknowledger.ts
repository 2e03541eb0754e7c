import type { Channel, ConsumeMessage } from 'amqplib';
import { startTimer } from '../../../core/timer.ts';

/** How long an acknowledgement may wait to be batched: each one sent makes the queue write to disk. */
const gatherMs = 5;

/** Acknowledges messages on a channel, batched over a few milliseconds. */
export class Acknowledger {
  readonly #channel: Channel;
  readonly #most: number;
  #waiting: ConsumeMessage[] = [];
  /** All messages up to this one are done. */
  #upTo: ConsumeMessage | undefined;
  #count = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param most this many are sent at once: the server limits the number of unacknowledged messages */
  constructor(channel: Channel, most: number) {
    this.#channel = channel;
    this.#most = most;
  }

  /** Marks this message, and all that the channel delivered before, as done: `count` since the last call. */
  upTo(message: ConsumeMessage, count: number): void {
    this.#upTo = message;
    this.#gather(count);
  }

  /** Marks these messages as done. */
  each(messages: readonly ConsumeMessage[]): void {
    this.#waiting.push(...messages);
    this.#gather(messages.length);
  }

  /** Sends pending acknowledgements; if the channel has ended, the messages are delivered again. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const [waiting, upTo] = [this.#waiting, this.#upTo];
    this.#count = 0;
    this.#waiting = [];
    this.#upTo = undefined;
    try {
      if (upTo !== undefined) this.#channel.ack(upTo, true);
      for (const message of waiting) this.#channel.ack(message);
    } catch {
      // The channel has just closed.
    }
  }

  #gather(count: number): void {
    if (count === 0) return;
    this.#count += count;
    if (this.#count >= this.#most) this.flush();
    else this.#timer ??= startTimer(() => this.flush(), gatherMs);
  }
}
