import type { Admin, ISocketFactory, Kafka } from 'kafkajs';
import { type KafkaConnection, kafkaClient } from '../../kafka/connection.ts';
import { type Sockets, tolerantSockets } from './metadata-tolerance.ts';
import { disconnect, ProducerSession } from './session.ts';

/** Every open connection of kafkajs wakes the process ten times a second to look for late answers, so idle ones are closed. */
const idleMs = 30_000;
const metadataMaxAgeMs = 10_000;

/** Connections to Kafka: opened when first needed, replaced when doubtful, closed when idle. */
export class KafkaClient {
  readonly #connection: KafkaConnection;
  readonly #openSocket: ISocketFactory | undefined;
  readonly #sessions = new Set<ProducerSession>();
  #current: ProducerSession | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(connection: KafkaConnection, openSocket?: ISocketFactory) {
    this.#connection = connection;
    this.#openSocket = openSocket;
  }

  /** Runs `work` with the connected producer of now. Throws when no broker can be reached. */
  async use<T>(work: (session: ProducerSession) => Promise<T>): Promise<T> {
    clearTimeout(this.#idle);
    if (this.#current === undefined || this.#current.retired) this.#current = this.#open();
    const session = this.#current;
    try {
      return await session.run(work);
    } finally {
      if (session === this.#current && session.unused && !session.retired) {
        clearTimeout(this.#idle);
        this.#idle = setTimeout(() => session.retire(), idleMs).unref();
      }
    }
  }

  /** Runs `work` with an admin client over a fresh connection, so that it tells what is true now. */
  async withAdmin<T>(work: (admin: Admin) => Promise<T>): Promise<T> {
    const { kafka, sockets } = this.#kafka();
    const admin = kafka.admin({ retry: { retries: 0 } });
    try {
      await this.#connect(admin);
      return await work(admin);
    } finally {
      await disconnect(admin, sockets);
    }
  }

  /** Lets running calls end, then disconnects. The next call connects anew. */
  async close(): Promise<void> {
    clearTimeout(this.#idle);
    this.#current?.retire();
    await Promise.all([...this.#sessions].map((session) => session.ended));
  }

  #open(): ProducerSession {
    const { kafka, sockets } = this.#kafka();
    const producer = kafka.producer({
      allowAutoTopicCreation: false,
      // The partition was chosen by the transport, with the pinned count that only it knows.
      createPartitioner:
        () =>
        ({ message }) =>
          message.partition ?? 0,
      idempotent: false,
      metadataMaxAge: metadataMaxAgeMs,
      retry: { retries: 0 },
    });
    const session = new ProducerSession(producer, sockets, () => this.#connect(producer));
    this.#sessions.add(session);
    void session.ended.then(() => this.#sessions.delete(session));
    return session;
  }

  #kafka(): { readonly kafka: Kafka; readonly sockets: Sockets } {
    const sockets = tolerantSockets(this.#openSocket);
    const kafka = kafkaClient(this.#connection, { retry: { retries: 0 }, socketFactory: sockets.factory });
    return { kafka, sockets };
  }

  /** Without retries kafkajs tries one address and moves on to the next at the next call. */
  async #connect(client: { connect(): Promise<void> }): Promise<void> {
    for (let left = this.#connection.brokers.length; ; left -= 1) {
      try {
        return await client.connect();
      } catch (error) {
        if (left <= 1) throw error;
      }
    }
  }
}
