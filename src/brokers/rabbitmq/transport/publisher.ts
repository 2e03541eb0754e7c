import { startTimer } from '../../../core/timer.ts';
import type { RabbitmqConnection } from '../client/connection.ts';
import { type Link, openLink } from '../client/link.ts';
import { ExchangeChannel, type ExchangeUse } from './exchange-channel.ts';

/** An idle connection is closed after this; a blocked one stays open, to be notified when it is unblocked. */
const idleMs = 30_000;

/** A connection, its channels, and the calls that use it. */
class Session {
  readonly link: Promise<Link>;
  readonly #channels = new Map<string, Promise<ExchangeChannel>>();
  readonly #users = new Set<Promise<unknown>>();
  /** Per connection, because the limit may change when the server restarts. */
  #maxBytes = Infinity;
  retired = false;

  constructor(link: Promise<Link>) {
    this.link = link;
    void this.#follow();
  }

  /** Watches the connection until it has ended. */
  async #follow(): Promise<void> {
    try {
      const link = await this.link;
      link.whenBlocked((reason) => void this.#tellBlocked(reason));
      await link.ended;
    } catch {
      // It could not be opened; the calls that need it get the error.
    } finally {
      this.retired = true;
    }
  }

  get unused(): boolean {
    return this.#users.size === 0;
  }

  async run<T>(work: (link: Link) => Promise<T>): Promise<T> {
    const running = this.link.then(work);
    this.#users.add(running);
    try {
      return await running;
    } finally {
      this.#users.delete(running);
    }
  }

  /** The channel of an exchange; an ended one is replaced. */
  async channel(link: Link, address: string, use: ChannelUse): Promise<ExchangeChannel> {
    const current = this.#channels.get(address);
    const known = await current?.catch(() => undefined);
    if (known !== undefined && !known.ended) return known;
    const opening = this.#channels.get(address);
    // Another call may have replaced it meanwhile.
    if (opening !== undefined && opening !== current) return opening;
    const opened = link
      .ask((model) => model.createConfirmChannel())
      .then((channel) => {
        const made = new ExchangeChannel(channel, link, { address, ...use });
        made.limit(this.#maxBytes, (bytes) => {
          this.#maxBytes = bytes;
        });
        return made;
      });
    this.#channels.set(address, opened);
    return opened;
  }

  /** Waits for running calls, then closes the connection. */
  async end(): Promise<void> {
    this.retired = true;
    await Promise.allSettled(this.#users);
    const link = await this.link.catch(() => undefined);
    await link?.end();
  }

  async #tellBlocked(reason: string): Promise<void> {
    for (const opening of this.#channels.values())
      await opening.then((channel) => channel.blocked(reason)).catch(() => undefined);
  }
}

type ChannelUse = Omit<ExchangeUse, 'address'>;

/** One connection to RabbitMQ: opened when first needed, replaced when lost, closed when idle. */
export class Publisher {
  readonly #connection: RabbitmqConnection;
  readonly #ending = new Set<Promise<void>>();
  #session: Session | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(connection: RabbitmqConnection) {
    this.#connection = connection;
  }

  /** Runs `work` with the current connection. Throws if none can be opened. */
  use<T>(work: (link: Link) => Promise<T>): Promise<T> {
    return this.#run((session) => session.run(work));
  }

  /** Runs `work` with the channel of an exchange. Throws if none can be opened. */
  withChannel<T>(
    address: string,
    use: ChannelUse,
    work: (channel: ExchangeChannel) => Promise<T>,
  ): Promise<T> {
    return this.#run((session) =>
      session.run(async (link) => work(await session.channel(link, address, use))),
    );
  }

  /** Waits for running calls, then disconnects. The next call opens a new connection. */
  async close(): Promise<void> {
    clearTimeout(this.#idle);
    this.#retire();
    await Promise.all(this.#ending);
  }

  async #run<T>(work: (session: Session) => Promise<T>): Promise<T> {
    clearTimeout(this.#idle);
    if (this.#session === undefined || this.#session.retired)
      this.#session = new Session(openLink(this.#connection, 'temporal-outbox relay'));
    const session = this.#session;
    try {
      return await work(session);
    } finally {
      if (session === this.#session && session.unused && !session.retired) this.#endWhenIdle(session);
    }
  }

  #endWhenIdle(session: Session): void {
    clearTimeout(this.#idle);
    this.#idle = startTimer(() => void this.#endUnlessBlocked(session), idleMs).unref();
  }

  async #endUnlessBlocked(session: Session): Promise<void> {
    const link = await session.link;
    if (session !== this.#session || !session.unused) return;
    if (link.blocked === undefined) this.#retire();
    else this.#endWhenIdle(session);
  }

  #retire(): void {
    const session = this.#session;
    this.#session = undefined;
    if (session === undefined) return;
    const ended = session.end().finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }
}
