import type { OutboxError } from '../../../core/errors.ts';
import { type Pauses, pauseAfter } from '../../../core/pause-after.ts';
import { rest } from '../../../core/rest.ts';
import type { Slots } from '../../../core/slots.ts';
import { OfferedBatch } from '../../offered-batch.ts';
import type { IncomingMessage, Subscription } from '../../source.ts';
import { LateReply, RedisLink, unfitServer } from '../client/redis-link.ts';
import type { RedisServer } from '../client/redis-server.ts';
import { mostAtOnce, type Queue, type QueueLease, type QueueRead } from './queue.ts';
import { ReadSize } from './read-size.ts';
import { Resting } from './resting.ts';

/** Intervals of the source, in milliseconds. Only tests shorten them. */
export interface ReaderPaces {
  /** How long a member that no longer renews its lease keeps its address. */
  readonly leaseMs: number;
  readonly renewEveryMs: number;
  /** How often a member without the lease requests it. */
  readonly standbyMs: number;
  /** The longest wait for new messages, and so how often an idle reader polls. */
  readonly newsMs: number;
  /** Delay between failed connections, which doubles from the first to the longest. */
  readonly reconnectMs: Pauses;
}

export const readerPaces: ReaderPaces = {
  leaseMs: 6_000,
  renewEveryMs: 1_000,
  standbyMs: 250,
  newsMs: 2_000,
  reconnectMs: { first: 200, most: 2_000 },
};

/** What the readers of one subscription share. */
export interface ReaderContext {
  readonly server: RedisServer;
  /** For what is short: acknowledgements and renewals, which must not queue behind large replies. */
  readonly link: RedisLink;
  readonly requestTimeoutMs: number;
  readonly subscription: Subscription;
  readonly holder: string;
  readonly slots: Slots;
  readonly paces: ReaderPaces;
  /** Fires when the consumer stops. */
  readonly stopping: AbortSignal;
  /** Called when this member gains or loses the address, and when the server answers again. */
  readonly changed: () => void;
  /** Called when the server is of a kind that can never be read. */
  readonly refused: (error: OutboxError) => void;
}

/** Reads one address while this member has a lease of it: one batch after another, from the oldest open message. */
export class QueueReader {
  readonly queue: Queue;
  /** Resolves when the server has answered for the first time, whichever member has the lease. */
  readonly joined: Promise<void>;
  readonly ended: Promise<void>;
  /** Why the last read failed. */
  lastError: unknown;
  readonly #context: ReaderContext;
  readonly #lease: QueueLease;
  /** For reads and blocking waits, so that no other command queues behind them. */
  readonly #reading: RedisLink;
  readonly #size = new ReadSize();
  /** Only without order: those behind them go on. */
  readonly #resting = new Resting();
  /** By `performance.now()`; the lease on the server ends a little later. */
  #mineUntilMs = 0;
  #lost: AbortController | undefined;

  constructor(queue: Queue, context: ReaderContext) {
    this.queue = queue;
    this.#context = context;
    this.#lease = { holder: context.holder, leaseMs: context.paces.leaseMs };
    const { requestTimeoutMs, server, subscription } = context;
    this.#reading = new RedisLink(server, requestTimeoutMs, subscription);
    let ended: Promise<void> = Promise.resolve();
    this.joined = new Promise((resolve) => {
      ended = this.#run(resolve);
    });
    this.ended = ended;
  }

  /** Whether this member has the lease. */
  get isMine(): boolean {
    return this.#lost !== undefined;
  }

  async #run(joined: () => void): Promise<void> {
    const { changed, paces, refused, stopping, subscription } = this.#context;
    let failures = 0;
    let cut = false;
    const reached = (): void => {
      joined();
      // Also if the lease has lasted: only this says that the server answers again.
      if (cut) changed();
      cut = false;
    };
    while (!stopping.aborted) {
      try {
        await this.#turn(reached);
        failures = 0;
      } catch (error) {
        if (stopping.aborted) break;
        this.lastError = error;
        const unfit = unfitServer(error);
        if (unfit !== undefined) refused(unfit);
        cut = true;
        this.#reread();
        this.#lookAtClock();
        failures += 1;
        const retryInMs = pauseAfter(failures, paces.reconnectMs);
        subscription.disconnected(error, retryInMs);
        await rest(retryInMs, stopping);
      }
    }
    await this.#leave();
  }

  async #turn(reached: () => void): Promise<void> {
    const { paces, slots, stopping } = this.#context;
    const slot = await slots.take(stopping);
    if (slot === undefined) return;
    let restMs: number | undefined;
    try {
      restMs = await this.#readOnce(reached);
    } finally {
      slot.free();
    }
    if (restMs !== undefined) return this.#rest(restMs);
    const newsMs = Math.ceil(Math.min(paces.newsMs, this.#resting.nextInMs));
    // The wait would reopen the connection that the stop has closed. One of 0 would have no end.
    if (stopping.aborted || newsMs <= 0) return;
    // A read is not broken off: the server might execute it after the release of the lease.
    const stop = (): void => this.#reading.close();
    stopping.addEventListener('abort', stop, { once: true });
    try {
      await this.#reading.ask((client) => this.queue.news(client, newsMs), newsMs);
    } finally {
      stopping.removeEventListener('abort', stop);
    }
  }

  /** @returns how long to wait before the next read; `undefined`: until there is something to read */
  async #readOnce(reached: () => void): Promise<number | undefined> {
    const { paces, subscription } = this.#context;
    if (this.#resting.size >= subscription.batchSize) return this.#offerRested();
    const askedAtMs = performance.now();
    const asked = Math.min(this.#size.next(subscription.batchSize), mostAtOnce);
    const read = await this.#read(asked);
    if (read.kind === 'taken') {
      this.#lose();
      const conflict = this.queue.conflict(read.holder);
      if (conflict !== undefined) throw conflict;
      reached();
      return paces.standbyMs;
    }
    // If the reply came after the lease, others may have claimed what rests here.
    if (this.#resting.size > 0) this.#lookAtClock();
    this.#mine(askedAtMs);
    reached();
    for (const notice of read.notices) subscription.noticed?.(notice);
    const found = this.#resting.without(read.messages);
    const messages = [...this.#resting.takeDue(), ...found];
    const full = asked < subscription.batchSize && read.messages.length >= asked;
    if (messages.length > 0) return this.#withHeart(() => this.#offer(messages, full));
    return read.messages.length === 0 ? undefined : 0;
  }

  /** As many messages rest as a batch has: further ones are left to other members. */
  async #offerRested(): Promise<number> {
    const restMs = this.#resting.nextInMs;
    if (restMs > 0) return restMs;
    await this.#renew();
    const messages = this.#resting.takeDue();
    return messages.length === 0 ? 0 : this.#withHeart(() => this.#offer(messages, true));
  }

  async #read(asked: number): Promise<QueueRead> {
    const { requestTimeoutMs: withinMs } = this.#context;
    const askedAtMs = performance.now();
    try {
      const read = await this.#reading.ask((client) => this.queue.read(client, this.#lease, asked));
      if (read.kind === 'mine') {
        const { bytes, messages } = read;
        const tookMs = performance.now() - askedAtMs;
        this.#size.arrived({ asked, bytes, entries: messages.length, tookMs, withinMs });
      }
      return read;
    } catch (error) {
      if (error instanceof LateReply) this.#size.late(asked);
      throw error;
    }
  }

  /**
   * @param full there may be more than was asked for, which is less than the subscription wants
   * @returns how long to wait: if order is kept, as long as the open messages rest
   */
  async #offer(messages: readonly IncomingMessage[], full: boolean): Promise<number> {
    const { link, stopping, subscription } = this.#context;
    const lost = this.#lost?.signal ?? AbortSignal.abort();
    const signal = AbortSignal.any([stopping, lost]);
    const { address, ordered, readsOn } = this.queue;
    const cut = !readsOn || full;
    const batch = new OfferedBatch({ address, partition: 0, messages, signal, lost, ordered, cut });
    await subscription.handle(batch);
    const done = batch.done();
    if (ordered && done.length < messages.length) this.queue.reread();
    if (done.length > 0) await link.ask((client) => this.queue.done(client, this.#lease, done));
    if (ordered) return batch.restMs ?? 0;
    // What is lost is read again, if it is still open.
    if (lost.aborted || done.length === messages.length) return 0;
    const ended = new Set(done);
    for (const message of messages)
      if (!ended.has(message)) this.#resting.keep(message, batch.restOf(message) ?? 0);
    return 0;
  }

  #reread(): void {
    this.#resting.clear();
    this.queue.reread();
  }

  /** This member keeps a resting partition; the rest ends early with the consumer, or with the lease. */
  async #rest(ms: number): Promise<void> {
    const { stopping } = this.#context;
    if (ms === 0) return;
    const lost = this.#lost?.signal;
    const signal = lost === undefined ? stopping : AbortSignal.any([stopping, lost]);
    await this.#withHeart(() => rest(ms, signal));
  }

  async #withHeart<Result>(work: () => Promise<Result>): Promise<Result> {
    const heart = setInterval(() => void this.#renew(), this.#context.paces.renewEveryMs);
    try {
      return await work();
    } finally {
      clearInterval(heart);
    }
  }

  async #renew(): Promise<void> {
    if (this.#lost === undefined) return;
    const { link } = this.#context;
    const askedAtMs = performance.now();
    try {
      const mine = await link.ask((client) => this.queue.renew(client, this.#lease));
      if (mine) this.#mine(askedAtMs);
      else this.#lose();
    } catch {
      // The next read reports the reason.
      this.#lookAtClock();
    }
  }

  #mine(askedAtMs: number): void {
    this.#mineUntilMs = askedAtMs + this.#lease.leaseMs;
    if (this.#lost !== undefined) return;
    this.#lost = new AbortController();
    this.#context.changed();
  }

  #lookAtClock(): void {
    if (performance.now() >= this.#mineUntilMs) this.#lose();
  }

  #lose(): void {
    const lost = this.#lost;
    if (lost === undefined) return;
    this.#lost = undefined;
    this.#reread();
    lost.abort();
    this.#context.changed();
  }

  async #leave(): Promise<void> {
    this.#reading.close();
    if (this.#lost === undefined) return;
    this.#lost = undefined;
    // If this fails, the lease expires.
    await this.#context.link.ask((client) => this.queue.release(client, this.#lease)).catch(() => undefined);
  }
}
