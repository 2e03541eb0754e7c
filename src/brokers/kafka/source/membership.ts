import type { Consumer, EachBatchPayload } from 'kafkajs';
import { OutboxError } from '../../../core/errors.ts';
import { startTimer } from '../../../core/timer.ts';
import type { Partition, Subscription } from '../../source.ts';
import { showQuestions } from '../client/asked-questions.ts';
import { readEveryCodec } from '../client/codecs.ts';
import { type KafkaConnection, kafkaClient } from '../client/connection.ts';
import { kafkajs } from '../client/kafkajs.ts';
import { readLazily } from '../client/lazy-fetch.ts';
import { assignerOver } from './assigner.ts';
import { Losses } from './losses.ts';
import type { StartOffsets } from './start-offsets.ts';
import { heartbeatIntervalMs, takeBatch } from './take-batch.ts';

/** Also the longest time that a resumed partition or a stop waits for a pending fetch. */
const fetchWaitMs = 250;

/**
 * One membership in a consumer group, from connecting to leaving or crashing. It is not reused: the source creates
 * another.
 *
 * The restart of kafkajs is off: it happens after some errors only, and not at all when a stop and a crash coincide.
 */
export class Membership {
  /** Settles when the membership has ended without {@link leave}, with the reason. */
  readonly crashed: Promise<unknown>;
  readonly #consumer: Consumer;
  readonly #sessionTimeoutMs: number;
  readonly #subscription: Subscription;
  readonly #stopping = new AbortController();
  readonly #resumes = new Set<NodeJS.Timeout>();
  readonly #startOffsets: StartOffsets;
  readonly #losses: Losses;
  /** Resolves when the start offsets of the assigned partitions are settled. */
  #begun: Promise<void> = Promise.resolve();

  /**
   * @param partitionBytes how much of one partition an answer may have
   */
  constructor(
    connection: KafkaConnection,
    subscription: Subscription,
    startOffsets: StartOffsets,
    partitionBytes: number,
  ) {
    this.#sessionTimeoutMs = connection.consumption.sessionTimeoutMs;
    this.#subscription = subscription;
    this.#startOffsets = startOffsets;
    this.#losses = new Losses(connection, subscription);
    this.#consumer = consumerOf(connection, subscription, this.#losses, partitionBytes);
    let crash: (error: unknown) => void = () => undefined;
    this.crashed = new Promise((resolve) => {
      crash = (error) => {
        this.#end();
        resolve(error);
      };
    });
    this.#consumer.on('consumer.crash', ({ payload }) => crash(payload.error));
    // Not where the commit is requested: while kafkajs is stopping, it skips a commit without an error.
    this.#consumer.on('consumer.commit_offsets', ({ payload: { topics } }) => {
      for (const { topic, partitions } of topics) startOffsets.used(topic, partitions);
    });
    this.#consumer.on('consumer.received_unsubscribed_topics', ({ payload }) => {
      const { topicsNotSubscribed: addresses, topicsSubscribed } = payload;
      const error = unread(subscription.group, addresses, topicsSubscribed);
      subscription.noticed?.({ type: 'partitions-unread', addresses, error });
    });
    this.#consumer.on('consumer.group_join', ({ payload }) => {
      const assigned = partitionsOf(payload.memberAssignment);
      // Messages wait for the commit, so that it never moves an offset back. Where it fails, a group that begins with the oldest message
      // loses nothing: its lag stays unknown until it has handled one.
      const beginning = this.#begin(assigned);
      const begun = subscription.fromBeginning ? beginning.catch(() => undefined) : beginning;
      this.#begun = begun;
      // If the assignment has changed since, the error no longer matters.
      begun.catch((error: unknown) => {
        if (this.#begun === begun) crash(error);
      });
      subscription.assigned(assigned);
    });
  }

  /** Resolves once partitions are assigned and messages are being fetched. Throws if the group could not be joined. */
  async join(): Promise<void> {
    const { addresses, concurrency } = this.#subscription;
    await this.#startOffsets.look();
    await this.#losses.look();
    await this.#consumer.connect();
    // Also for a group that wants only messages that arrive from now on: kafkajs applies this option, too, when the
    // committed offset of an existing group is out of range. `#begin` sets where a new group begins.
    await this.#consumer.subscribe({ topics: [...addresses], fromBeginning: true });
    const context = {
      subscription: this.#subscription,
      sessionTimeoutMs: this.#sessionTimeoutMs,
      stopping: this.#stopping.signal,
      begun: () => this.#begun,
      losses: this.#losses,
      inHand: new Set<EachBatchPayload>(),
      resumeAfter: (pauseMs: number, resume: () => void) => this.#resumeAfter(pauseMs, resume),
    };
    const running = this.#consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: concurrency,
      eachBatch: (payload) => takeBatch(payload, context),
    });
    // `run` also resolves when the join failed; the crash event comes before.
    const failure = await Promise.race([
      running.then(() => this.#begun).then(() => undefined),
      this.crashed.then((error) => ({ error })),
    ]);
    if (failure !== undefined) throw failure.error;
  }

  /** Lets the batches in progress end, with their offsets committed, and leaves the group. */
  async leave(): Promise<void> {
    this.#end();
    await this.#consumer.disconnect().catch(() => undefined);
  }

  async #begin(assigned: readonly Partition[]): Promise<void> {
    const offsets = await this.#startOffsets.of(assigned);
    if (offsets.length === 0) return;
    await this.#consumer.commitOffsets([...offsets]);
    if (this.#subscription.fromBeginning) return;
    for (const offset of offsets) this.#consumer.seek(offset);
  }

  #end(): void {
    this.#stopping.abort();
    for (const timer of this.#resumes) clearTimeout(timer);
  }

  #resumeAfter(pauseMs: number, resume: () => void): void {
    if (this.#stopping.signal.aborted) return;
    const timer = startTimer(() => {
      this.#resumes.delete(timer);
      resume();
    }, pauseMs);
    this.#resumes.add(timer);
  }
}

function partitionsOf(assignment: Readonly<Record<string, readonly number[]>>): readonly Partition[] {
  return Object.entries(assignment).flatMap(([address, partitions]) =>
    partitions.map((partition) => ({ address, partition })),
  );
}

function unread(group: string, addresses: readonly string[], handled: readonly string[]): OutboxError {
  return new OutboxError(
    'OUTBOX_GROUP_MIXED',
    `The leader of the group "${group}" gave this consumer partitions of ${addresses.join(', ')}, for which it has no handler: no member reads them. It may have given those of ${handled.join(', ')} to no member.`,
    { details: { group, addresses, handled } },
  );
}

function consumerOf(
  connection: KafkaConnection,
  subscription: Subscription,
  losses: Losses,
  partitionBytes: number,
): Consumer {
  const { logLevel } = kafkajs();
  const { consumption, logger } = connection;
  const retry = { initialRetryTime: 100, maxRetryTime: 2_000, retries: 5 };
  const client = kafkaClient(connection, {
    logCreator: (level) => {
      const write = logger?.(level);
      return (entry) => {
        losses.logged(entry);
        write?.(entry);
      };
    },
    logLevel: logger === undefined ? logLevel.ERROR : logLevel.WARN,
    retry,
  });
  readEveryCodec();
  showQuestions(client, (broker, answer) => subscription.asked?.(broker, answer));
  return readLazily(client).consumer({
    groupId: subscription.group,
    allowAutoTopicCreation: false,
    heartbeatInterval: heartbeatIntervalMs,
    maxBytes: consumption.maxFetchBytes,
    maxBytesPerPartition: partitionBytes,
    maxWaitTimeInMs: fetchWaitMs,
    metadataMaxAge: 30_000,
    partitionAssigners: [assignerOver(connection)],
    rebalanceTimeout: consumption.rebalanceTimeoutMs,
    retry: { ...retry, restartOnFailure: async () => false },
    sessionTimeout: consumption.sessionTimeoutMs,
  });
}
