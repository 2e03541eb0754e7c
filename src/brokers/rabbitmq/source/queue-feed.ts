import { randomUUID } from 'node:crypto';
import type { Channel, ConsumeMessage } from 'amqplib';
import { startTimer } from '../../../core/timer.ts';
import { OfferedBatch } from '../../offered-batch.ts';
import type { Subscription } from '../../source.ts';
import { Acknowledger } from './acknowledger.ts';
import type { Prefetch } from './prefetch.ts';
import { ReceivedDelivery } from './received-delivery.ts';

export interface QueueFeedOptions {
  readonly address: string;
  readonly channel: Channel;
  readonly subscription: Pick<Subscription, 'batchSize' | 'handle'>;
  /** Whether a resting message holds back those behind it. */
  readonly order: boolean;
  readonly prefetch: Prefetch;
  /** How long a message may be held before all that is held goes back. */
  readonly holdForMs: number;
  /** Takes one of the slots for concurrent handling; false if none is free. */
  readonly take: () => boolean;
  /** Frees the slot. */
  readonly give: () => void;
}

/**
 * Hands over the messages of a queue, batch after batch, and acknowledges them.
 *
 * A rejected message stays here, unacknowledged, until its rest is over: returned to the queue, it would be delivered
 * again at once, and out of order.
 */
export class QueueFeed {
  readonly #options: QueueFeedOptions;
  readonly #name = randomUUID();
  readonly #stopping = new AbortController();
  readonly #lost = new AbortController();
  /** In the order of delivery, including those of the current batch. */
  #deliveries: ReceivedDelivery[] = [];
  #bytes = 0;
  #overdue: () => void = () => undefined;
  /**
   * Resolves when everything that is held should go back and be received again: it is too large, or has been held for too
   * long, or far more could be held.
   */
  readonly overdue: Promise<void>;
  #inHand: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #ageTimer: NodeJS.Timeout | undefined;
  readonly #acknowledger: Acknowledger;
  #looking = false;

  constructor(options: QueueFeedOptions) {
    this.#options = options;
    this.overdue = new Promise((resolve) => {
      this.#overdue = resolve;
    });
    this.#acknowledger = new Acknowledger(options.channel, options.subscription.batchSize);
  }

  /** Number of messages that the queue has delivered here and that are not acknowledged. */
  get unacknowledged(): number {
    return this.#deliveries.length;
  }

  receive(raw: ConsumeMessage): void {
    if (this.#stopping.signal.aborted) return;
    const delivery = new ReceivedDelivery(this.#options.address, raw, this.#name);
    this.#deliveries.push(delivery);
    this.#bytes += delivery.bytes;
    if (this.#options.prefetch.isExceeded(this.#deliveries.length, this.#bytes)) this.#overdue();
    if (this.#ageTimer === undefined) this.#lookAtAge();
    this.look();
  }

  /** Hands over ready messages asynchronously, because more may arrive in the same tick. */
  look(): void {
    if (this.#looking || this.#deliveries.length === 0) return;
    this.#looking = true;
    setImmediate(() => {
      this.#looking = false;
      this.#offer();
    });
  }

  /** Starts no more batches, and resolves when the current one has ended and is acknowledged. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    clearTimeout(this.#ageTimer);
    await this.#inHand;
    this.#acknowledger.flush();
  }

  /** Must be called when the channel has ended: all unacknowledged messages are delivered elsewhere. */
  async lose(): Promise<void> {
    this.#lost.abort();
    await this.stop();
  }

  #lookAtAge(): void {
    this.#ageTimer = undefined;
    const [oldest] = this.#deliveries;
    if (oldest === undefined || this.#stopping.signal.aborted) return;
    const leftMs = oldest.receivedAtMs + this.#options.holdForMs - performance.now();
    if (leftMs <= 0) this.#overdue();
    else this.#ageTimer = startTimer(() => this.#lookAtAge(), leftMs);
  }

  #offer(): void {
    if (this.#inHand !== undefined || this.#stopping.signal.aborted) return;
    const ready = this.#ready();
    if (ready.length === 0 || !this.#options.take()) return;
    this.#inHand = this.#hand(ready).finally(() => {
      this.#inHand = undefined;
      this.#options.give();
    });
  }

  /** The messages that can be handed over now; if there are none, checks again when the first rest is over. */
  #ready(): readonly ReceivedDelivery[] {
    const { order, subscription } = this.#options;
    const nowMs = performance.now();
    const resting = this.#deliveries.filter(({ restsUntilMs }) => restsUntilMs > nowMs);
    if (resting.length > 0) {
      clearTimeout(this.#timer);
      const wakeAtMs = Math.min(...resting.map(({ restsUntilMs }) => restsUntilMs));
      this.#timer = startTimer(() => this.look(), wakeAtMs - nowMs);
      if (order) return [];
    }
    const ready =
      resting.length === 0 ? this.#deliveries : this.#deliveries.filter((one) => !resting.includes(one));
    return ready.slice(0, Math.max(1, subscription.batchSize));
  }

  async #hand(ready: readonly ReceivedDelivery[]): Promise<void> {
    const { address, order, prefetch, subscription } = this.#options;
    const { signal } = this.#stopping;
    const batch = new OfferedBatch({
      address,
      partition: 0,
      messages: ready,
      signal,
      lost: this.#lost.signal,
      ordered: order,
      // The server delivers no more than this before something is acknowledged.
      cut: prefetch.count < subscription.batchSize && this.#deliveries.length >= prefetch.count,
    });
    await subscription.handle(batch);
    const nowMs = performance.now();
    for (const one of ready) one.restsUntilMs = nowMs + (batch.restOf(one) ?? 0);
    // Not earlier: nothing of this batch may be acknowledged before `handle` has finished.
    if (!this.#lost.signal.aborted) this.#acknowledge(batch.done());
  }

  /** With order these are the first of those that are held; those behind them are delivered again together. */
  #acknowledge(done: readonly ReceivedDelivery[]): void {
    const last = done.at(-1);
    if (last === undefined) return;
    if (this.#options.order) this.#acknowledger.upTo(last.raw, done.length);
    else this.#acknowledger.each(done.map(({ raw }) => raw));
    const gone = new Set(done);
    this.#deliveries = this.#deliveries.filter((one) => !gone.has(one));
    this.#forget(done);
  }

  #forget(done: readonly ReceivedDelivery[]): void {
    const bytes = done.reduce((sum, delivery) => sum + delivery.bytes, 0);
    this.#bytes -= bytes;
    // Nothing that is held would count as delivered once more.
    if (this.#deliveries.length === 0 && this.#options.prefetch.isTooSmall(done.length, bytes))
      this.#overdue();
  }
}
