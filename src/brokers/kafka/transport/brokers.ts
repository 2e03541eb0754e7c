import { startTimer } from '../../../core/timer.ts';
import type { KafkaConnection } from '../client/connection.ts';
import { type BrokerAddress, type Reach, readBroker, writeBroker } from './broker-address.ts';
import { BrokerConnection } from './broker-connection.ts';

/** Brokers end idle connections after ten minutes; a request that meets such an end would be in doubt. */
const idleMs = 30_000;

interface Opened {
  readonly connection: Promise<BrokerConnection>;
  /** Once it is there. */
  current: BrokerConnection | undefined;
  timer: NodeJS.Timeout | undefined;
}

/** Connections to brokers, one each: opened when first needed, replaced when doubtful, closed when idle. */
export class Brokers {
  readonly #settings: KafkaConnection;
  readonly #reach: Reach;
  readonly #opened = new Map<string, Opened>();

  constructor(settings: KafkaConnection, reach: Reach = (address) => address) {
    this.#settings = settings;
    this.#reach = reach;
  }

  get settings(): KafkaConnection {
    return this.#settings;
  }

  /** Whether any broker is connected now. */
  get connected(): boolean {
    return [...this.#opened.values()].some(({ current }) => current?.open === true);
  }

  /** @throws Error that says what failed, and where */
  async to(address: BrokerAddress): Promise<BrokerConnection> {
    const name = writeBroker(address);
    let opened = this.#opened.get(name);
    if (opened?.current !== undefined && !opened.current.usable) opened = undefined;
    opened ??= this.#open(name, address);
    clearTimeout(opened.timer);
    return opened.current ?? opened.connection;
  }

  /** A connection to any broker. @throws Error that says why none can be reached */
  async any(): Promise<BrokerConnection> {
    for (const { current } of this.#opened.values()) if (current?.usable === true) return current;
    return this.#first((address) => this.to(address));
  }

  /** Runs `work` over a connection of its own, so that the answer is current. */
  async afresh<Result>(work: (connection: BrokerConnection) => Promise<Result>): Promise<Result> {
    const connection = await this.#first((address) =>
      BrokerConnection.open(address, this.#settings, { reach: this.#reach, idle: () => undefined }),
    );
    try {
      return await work(connection);
    } finally {
      connection.retire();
    }
  }

  /** Closes every connection; one that waits for answers, when they have come. The next call opens new ones. */
  close(): void {
    for (const name of this.#opened.keys()) this.#drop(name);
  }

  #open(name: string, address: BrokerAddress): Opened {
    this.#drop(name);
    const connection = BrokerConnection.open(address, this.#settings, {
      reach: this.#reach,
      idle: () => this.#rest(name, opened),
    });
    const opened: Opened = { connection, current: undefined, timer: undefined };
    this.#opened.set(name, opened);
    void this.#follow(name, opened);
    return opened;
  }

  async #follow(name: string, opened: Opened): Promise<void> {
    try {
      opened.current = await opened.connection;
      if (this.#opened.get(name) !== opened) opened.current.retire();
    } catch {
      // Told to those who asked for it.
      if (this.#opened.get(name) === opened) this.#opened.delete(name);
    }
  }

  #rest(name: string, opened: Opened): void {
    clearTimeout(opened.timer);
    if (this.#opened.get(name) !== opened) return;
    opened.timer = startTimer(() => {
      if (opened.current?.waiting === 0) this.#drop(name);
    }, idleMs).unref();
  }

  #drop(name: string): void {
    const opened = this.#opened.get(name);
    if (opened === undefined) return;
    this.#opened.delete(name);
    clearTimeout(opened.timer);
    opened.current?.retire();
  }

  /** The first of the given brokers that can be reached. */
  async #first(open: (address: BrokerAddress) => Promise<BrokerConnection>): Promise<BrokerConnection> {
    const failures: unknown[] = [];
    for (const broker of this.#settings.servers) {
      try {
        return await open(readBroker(broker));
      } catch (error) {
        failures.push(error);
      }
    }
    throw failures.length === 1 ? failures[0] : new AggregateError(failures, 'No broker can be reached.');
  }
}
