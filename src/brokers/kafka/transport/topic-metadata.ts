import { OutboxError } from '../../../core/errors.ts';
import { reasonOf } from '../../../core/reason.ts';
import type { BrokerAddress } from './broker-address.ts';
import type { BrokerConnection } from './broker-connection.ts';
import type { Brokers } from './brokers.ts';

/** What is known of a topic. */
interface KnownTopic {
  /** Where the leader of each partition is; missing: it has none that this client may see. */
  readonly leaders: ReadonlyMap<number, BrokerAddress>;
  /** Every partition; empty: the topic does not exist, or may not be used. */
  readonly partitions: readonly number[];
  readonly staleAtMs: number;
}

/** A leader that has moved answers so, and then nobody knows whether it stored the batch: better to know before. */
const freshMs = 10_000;

/** Which broker leads which partition: read when first needed, after doubts, and again every 10 s while it is used. */
export class TopicMetadata {
  readonly #brokers: Brokers;
  readonly #known = new Map<string, KnownTopic>();
  readonly #reading = new Map<string, Promise<KnownTopic>>();

  constructor(brokers: Brokers) {
    this.#brokers = brokers;
  }

  /**
   * Where the leader of a partition is, asking the cluster where that is not known.
   *
   * @returns `undefined` if it has none
   * @throws Error if no broker can be asked
   */
  async leaderOf(address: string, partition: number): Promise<BrokerAddress | undefined> {
    const known = this.#known.get(address);
    const leader = known?.leaders.get(partition);
    if (known === undefined || leader === undefined) return (await this.#ask(address)).leaders.get(partition);
    // What moves meanwhile answers for itself.
    if (known.staleAtMs <= performance.now()) this.#ask(address).catch(() => undefined);
    return leader;
  }

  /** The next send asks again. */
  forget(address: string): void {
    this.#known.delete(address);
  }

  #ask(address: string): Promise<KnownTopic> {
    const running = this.#reading.get(address);
    if (running !== undefined) return running;
    const reading = this.#brokers
      .any()
      .then((connection) => describe(connection, address))
      .then((known) => {
        this.#known.set(address, known);
        return known;
      })
      .finally(() => this.#reading.delete(address));
    this.#reading.set(address, reading);
    return reading;
  }
}

async function describe(connection: BrokerConnection, address: string): Promise<KnownTopic> {
  const { brokers, topics } = await connection.metadata([address]);
  const nodes = new Map(brokers.map(({ nodeId, host, port }) => [nodeId, { host, port }]));
  const partitions = topics.find(({ name }) => name === address)?.partitions ?? [];
  const leaders = new Map<number, BrokerAddress>();
  for (const { partitionIndex, leaderId } of partitions) {
    const leader = nodes.get(leaderId);
    if (leader !== undefined) leaders.set(partitionIndex, leader);
  }
  return {
    leaders,
    partitions: partitions.map(({ partitionIndex }) => partitionIndex),
    staleAtMs: performance.now() + freshMs,
  };
}

/**
 * Resolves when every partition of the topic has a leader, as a broker says over a new connection.
 *
 * @throws {@link OutboxError} `OUTBOX_SERVER_UNAVAILABLE` with the reason otherwise.
 */
export async function probeTopic(brokers: Brokers, address: string): Promise<void> {
  const { leaders, partitions } = await describeNow(brokers, address);
  const leaderless = partitions.filter((partition) => !leaders.has(partition));
  if (leaderless.length > 0) {
    throw topicUnavailable(
      address,
      `partition ${leaderless.toSorted((a, b) => a - b).join(', ')} has no leader.`,
    );
  }
}

/**
 * How many partitions the topic has now.
 *
 * @throws {@link OutboxError} `OUTBOX_SERVER_UNAVAILABLE` when no broker answers, or none knows the topic.
 */
export async function countPartitions(brokers: Brokers, address: string): Promise<number> {
  return (await describeNow(brokers, address)).partitions.length;
}

async function describeNow(brokers: Brokers, address: string): Promise<KnownTopic> {
  const known = await brokers
    .afresh((connection) => describe(connection, address))
    .catch((error: unknown) => {
      throw topicUnavailable(address, reasonOf(error), error);
    });
  if (known.partitions.length === 0) throw topicUnavailable(address, 'it does not exist or may not be used.');
  return known;
}

/** What is thrown when a topic cannot be used now. */
export function topicUnavailable(address: string, reason: string, cause?: unknown): OutboxError {
  return new OutboxError('OUTBOX_SERVER_UNAVAILABLE', `Kafka topic ${address}: ${reason}`, {
    cause,
    details: { address },
  });
}
