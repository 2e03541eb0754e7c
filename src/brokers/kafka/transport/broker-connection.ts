import { isIP } from 'node:net';
import type { Connection, metadataV9 } from '@platformatic/kafka';
import { rest } from '../../../core/rest.ts';
import { startTimer } from '../../../core/timer.ts';
import type { KafkaConnection } from '../client/connection.ts';
import { platformaticKafka } from '../client/platformatic.ts';
import { type BrokerAddress, type Reach, writeBroker } from './broker-address.ts';
import { connectionReason } from './connection-reason.ts';
import { ProduceQueue } from './produce-queue.ts';
import { type ProduceAnswer, type ProduceBatch, produceApi } from './produce-request.ts';
import { authenticate } from './sasl.ts';
import { Unanswered } from './unanswered.ts';

const connectTimeoutMs = 3_000;
const keepAliveMs = 60_000;
/** The client's own time-out leaves a late answer in its stream, so it is never used. */
const never = 2 ** 31 - 1;
/** It would hold back what it has not written yet, and a request that waits there is sent after it was given up. */
const unlimited = 1_000_000;
/** A connection is replaced when this share of the time is over for which its credentials hold. */
const shareOfSession = 0.8;

type Api<Args extends readonly unknown[], Answer> = (
  connection: Connection,
  ...args: [...Args, (error: Error | null, answer?: Answer) => void]
) => void;

/** A connection to one broker, authenticated. It is used until it is lost, given up, or its credentials end. */
export class BrokerConnection {
  readonly #name: string;
  readonly #connection: Connection;
  readonly #requestTimeoutMs: number;
  readonly #endsAtMs: number;
  /** Called when nothing is waited for any more. */
  readonly #idle: () => void;
  readonly #queue = new ProduceQueue((batches) => this.#produceTogether(batches));
  #waiting = 0;
  #retired = false;
  /** A request was given up: what waits behind it goes to another connection, later. */
  #silent = false;
  /** By `performance.now()`: until then the broker reads nothing from this connection, because of a quota. */
  #throttledUntilMs = 0;
  #loss: unknown;

  private constructor(
    name: string,
    connection: Connection,
    { requestTimeoutMs }: KafkaConnection,
    { sessionMs, idle }: { readonly sessionMs: number; readonly idle: () => void },
  ) {
    this.#name = name;
    this.#connection = connection;
    this.#requestTimeoutMs = requestTimeoutMs;
    this.#endsAtMs =
      sessionMs === 0 ? Number.POSITIVE_INFINITY : performance.now() + shareOfSession * sessionMs;
    this.#idle = idle;
    // Without a listener a reset would end the process.
    connection.on('error', (error) => {
      this.#loss ??= error;
    });
  }

  /** @throws Error that says what failed, and where */
  static async open(
    address: BrokerAddress,
    settings: KafkaConnection,
    { reach, idle }: { readonly reach: Reach; readonly idle: () => void },
  ): Promise<BrokerConnection> {
    const name = writeBroker(address);
    const { tls, sasl, clientId, requestTimeoutMs } = settings;
    const timeoutMs = Math.min(connectTimeoutMs, requestTimeoutMs);
    const { Connection: Client } = platformaticKafka();
    const connection = new Client(clientId, {
      connectTimeout: timeoutMs,
      requestTimeout: never,
      maxInflights: unlimited,
      ...(tls !== false && {
        tls: { ...(isIP(address.host) === 0 && { servername: address.host }), ...(tls === true ? {} : tls) },
      }),
    });
    connection.on('error', () => undefined);
    const { host, port } = await reach(address);
    try {
      await connection.connect(host, port);
      connection.socket.setKeepAlive(true, keepAliveMs);
      const sessionMs =
        sasl === undefined ? 0 : await within(timeoutMs, authenticate(connection, sasl, address));
      return new BrokerConnection(name, connection, settings, { sessionMs, idle });
    } catch (error) {
      destroy(connection);
      throw new Error(connectionReason(name, error), { cause: error });
    }
  }

  /** Whether another request may be sent. */
  get usable(): boolean {
    return this.open && !this.#retired && performance.now() < this.#endsAtMs;
  }

  get open(): boolean {
    return this.#connection.isConnected() && this.#connection.socket.writable;
  }

  /** How many answers are waited for. */
  get waiting(): number {
    return this.#waiting;
  }

  /** May be sent with others: the outcome of a request applies to all its batches. @throws {@link Unanswered} */
  produce(batch: ProduceBatch): Promise<ProduceAnswer> {
    return this.#during(() => this.#queue.add(batch));
  }

  async #produceTogether(batches: readonly ProduceBatch[]): Promise<readonly ProduceAnswer[]> {
    if (this.#silent) throw new Unanswered(`${this.#name} does not answer.`, { written: false });
    const throttledMs = this.#throttledUntilMs - performance.now();
    if (throttledMs > 0) return this.#produceLater(batches, throttledMs);
    const reply = await this.#answer(produceApi(), [batches]);
    this.#throttledUntilMs = Math.max(this.#throttledUntilMs, performance.now() + reply.throttledMs);
    const { answers } = reply;
    return batches.map(({ address, partition }) => {
      const answer = answers.find((one) => one.partition === partition && one.address === address);
      if (answer !== undefined) return answer;
      throw new Unanswered(`${this.#name} answered for another partition.`, { written: true });
    });
  }

  /** What was sent now would only lie in the socket, and count as maybe stored if it is given up there. */
  async #produceLater(batches: readonly ProduceBatch[], ms: number): Promise<readonly ProduceAnswer[]> {
    if (ms > this.#requestTimeoutMs)
      throw new Unanswered(
        `${this.#name} takes nothing from this client for ${Math.ceil(ms / 1_000)} s, because of a quota.`,
        { written: false },
      );
    // Their memory is used again by then.
    const copies = batches.map((batch) => ({ ...batch, records: Buffer.from(batch.records) }));
    await rest(ms);
    return this.#produceTogether(copies);
  }

  /** Errors in the answer concern one topic or partition; the rest of it is as good. @throws {@link Unanswered} */
  metadata(topics: readonly string[]): Promise<metadataV9.MetadataResponse> {
    return this.#ask(platformaticKafka().metadataV9.api, [...topics], false, false);
  }

  /**
   * Some settings of a topic, or of this broker, by name; none without the right to read them.
   *
   * @throws {@link Unanswered}
   */
  async settings(
    kind: 'topic' | 'broker',
    resourceName: string,
    names: readonly string[],
  ): Promise<ReadonlyMap<string, string>> {
    const { ConfigResourceTypes, describeConfigsV4 } = platformaticKafka();
    const resourceType = ConfigResourceTypes[kind === 'topic' ? 'TOPIC' : 'BROKER'];
    const resource = { resourceType, resourceName, configurationKeys: [...names] };
    const { results } = await this.#ask(describeConfigsV4.api, [resource], false, false);
    return new Map(results[0]?.configs.map(({ name, value }) => [name, value ?? '']));
  }

  /** Takes no further requests, and closes when the last answer has come or is given up. */
  retire(): void {
    this.#retired = true;
    if (this.#waiting === 0) destroy(this.#connection);
  }

  #ask<Args extends readonly unknown[], Answer>(api: Api<Args, Answer>, ...args: Args): Promise<Answer> {
    return this.#during(() => this.#answer(api, args));
  }

  async #during<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    this.#waiting += 1;
    try {
      return await ask();
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0) {
        if (this.#retired) destroy(this.#connection);
        else this.#idle();
      }
    }
  }

  #answer<Args extends readonly unknown[], Answer>(api: Api<Args, Answer>, args: Args): Promise<Answer> {
    const { socket } = this.#connection;
    const before = socket.bytesWritten;
    const written = (): boolean => socket.bytesWritten > before;
    const startedAtMs = performance.now();
    return new Promise((resolve, reject) => {
      const look = (): void => {
        // What a broker does not read, because of a quota, it cannot answer.
        const fromMs = Math.max(startedAtMs, this.#throttledUntilMs);
        const leftMs = fromMs + this.#requestTimeoutMs - performance.now();
        if (leftMs > 1) {
          timer = startTimer(look, leftMs);
          return;
        }
        // What else was asked here may still be answered; what comes after it goes to another connection.
        this.#retired = true;
        this.#silent = true;
        const message = `${this.#name} did not answer within ${this.#requestTimeoutMs} ms.`;
        reject(new Unanswered(message, { written: written() }));
      };
      let timer = startTimer(look, this.#requestTimeoutMs);
      api(this.#connection, ...args, (error, answer) => {
        clearTimeout(timer);
        if (answer !== undefined) return resolve(answer);
        // The client throws answers in which anything is an error; they are whole nevertheless.
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it is what the client would have answered
        if (error !== null && 'response' in error) return resolve(error.response as Answer);
        this.#retired = true;
        const cause = this.#loss ?? error;
        reject(new Unanswered(connectionReason(this.#name, cause), { written: written(), cause }));
      });
    });
  }
}

function destroy(connection: Connection): void {
  // Its socket exists once it has begun to connect.
  const socket = connection.socket as Connection['socket'] | undefined;
  socket?.destroy();
}

function within<Result>(ms: number, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = startTimer(() => reject(new Error(`it did not authenticate within ${ms} ms`)), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
