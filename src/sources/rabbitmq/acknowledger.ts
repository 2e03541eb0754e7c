import type { Channel, ConsumeMessage } from 'amqplib';

/** How long an acknowledgement may wait for others: each one that is sent is a write of the queue to its disk. */
const gatherMs = 5;

/** Tells a channel what is done: a few milliseconds later, with what is done by then. */
export class Acknowledger {
  readonly #channel: Channel;
  readonly #most: number;
  #waiting: ConsumeMessage[] = [];
  /** Up to this one all is done. */
  #upTo: ConsumeMessage | undefined;
  #count = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param most so many do not wait: the server sends no more than a number of messages that are not acknowledged */
  constructor(channel: Channel, most: number) {
    this.#channel = channel;
    this.#most = most;
  }

  /** This message is done, and with it all that the channel delivered before: `count` since the last one. */
  upTo(message: ConsumeMessage, count: number): void {
    this.#upTo = message;
    this.#gather(count);
  }

  /** These are done. */
  each(messages: readonly ConsumeMessage[]): void {
    this.#waiting.push(...messages);
    this.#gather(messages.length);
  }

  /** Sends what waits, unless the channel has ended: then it is delivered again. */
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
      // It has ended in this moment.
    }
  }

  #gather(count: number): void {
    if (count === 0) return;
    this.#count += count;
    if (this.#count >= this.#most) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), gatherMs);
  }
}
