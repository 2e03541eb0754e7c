import type { IncomingBatch, Partition } from '../../brokers/source.ts';
import { installationOf } from '../../core/receipt.ts';
import type { Transaction } from '../../store/database/transaction.ts';
import { type Applied, counterOf, eventOf } from '../applied.ts';
import type { ConsumerContext } from '../consumer-context.ts';
import { type Arrived, identify } from '../handling/arrived.ts';
import { keyNameOf } from '../handling/breaker.ts';
import { GivenUp } from '../handling/handler-transactions.ts';
import type { Receipts } from '../handling/receipts.ts';
import { nextPauseMs } from '../handling/retry-pace.ts';
import type { RouteTable } from '../route-table.ts';
import { Applier, HoldsKey } from './applier.ts';
import { FailedChunks } from './failed-chunks.ts';
import { type FailingPartition, FailingPartitions } from './failing-partitions.ts';
import { inKeyOrder } from './key-order.ts';
import { KeyQueues } from './key-queues.ts';
import { KnownMessages } from './known-messages.ts';
import { PoisonMarks } from './poison-marks.ts';
import { OneByOne, positionOf, type Settled } from './settle-one.ts';

/** Where its messages come from, and who is told of some. */
export interface IntakeSource<Tx extends Transaction> {
  readonly lookup: RouteTable<Tx>;
  /** Receipts for messages whose topic asks this group for them; `undefined` if no topic does. */
  readonly receipts: Receipts | undefined;
  /** Called when a message was parked. */
  readonly onParked: () => void;
  /** Called when a message was failed. */
  readonly onFailed: () => void;
}

/**
 * Takes batches of one source and applies their messages, each with effect once.
 *
 * A message is acknowledged only after its id is committed, with its effects or with the kept message. So nothing is
 * lost, and the order holds even while two processes believe that they own a partition: in the database, the later one
 * waits for the earlier.
 */
export class MessageIntake<Tx extends Transaction> {
  readonly #context: ConsumerContext<Tx>;
  readonly #source: IntakeSource<Tx>;
  readonly #applier: Applier<Tx>;
  readonly #known: KnownMessages<Tx>;
  readonly #marks: PoisonMarks<Tx>;
  readonly #queues: KeyQueues;
  readonly #failing = new FailingPartitions();
  readonly #failedChunks = new FailedChunks();
  readonly #oneByOne: OneByOne<Tx>;

  constructor(context: ConsumerContext<Tx>, source: IntakeSource<Tx>) {
    this.#context = context;
    this.#source = source;
    this.#applier = new Applier(context);
    this.#known = new KnownMessages(context);
    this.#marks = new PoisonMarks(context);
    this.#queues = new KeyQueues(context);
    this.#oneByOne = new OneByOne(context, this.#applier, this.#failing);
  }

  failing(): readonly FailingPartition[] {
    return this.#failing.list();
  }

  assigned(partitions: readonly Partition[]): void {
    this.#failing.keepOnly(partitions);
    this.#failedChunks.keepOnly(partitions);
    this.#marks.keepOnly(partitions);
    this.#context.report({ type: 'assigned', partitions });
  }

  /** Handles messages and acknowledges or rejects each. The promise never rejects. */
  async handle(batch: IncomingBatch): Promise<void> {
    const { tally } = this.#context;
    tally.inFlight += batch.messages.length;
    this.#failing.offered(batch, () => batch.messages.map(({ offset }) => offset));
    try {
      const arrived = await this.#dropKnown(batch, this.#identified(batch));
      const free = await this.#queues.free(arrived);
      if (batch.mayBegin() && !(await this.#enter(batch, free))) await this.#marks.leave(batch);
      const next = arrived[free.length];
      if (next !== undefined && batch.mayBegin()) this.#queues.pause(batch, next, this.#failing);
    } catch (error) {
      this.#undone(batch, error);
    } finally {
      tally.inFlight -= batch.messages.length;
      // Before the source commits the offsets, so that receipts normally precede the group's committed position.
      await this.#source.receipts?.flush();
    }
  }

  /** To be called after the last batch. */
  async close(): Promise<void> {
    await this.#marks.clear().catch(() => undefined);
  }

  #identified(batch: IncomingBatch): readonly Arrived<Tx>[] {
    const { report, tally } = this.#context;
    const arrived: Arrived<Tx>[] = [];
    for (const incoming of batch.messages) {
      const one = identify(incoming, this.#source.lookup);
      if ('id' in one) {
        arrived.push(one);
        continue;
      }
      tally.count('ignored');
      const { address, partition, offset } = incoming;
      report({
        type: 'ignored',
        id: incoming.header('ce_id') ?? '',
        topic: one.ignored,
        address,
        partition,
        offset,
      });
      batch.acknowledge(incoming);
    }
    return arrived;
  }

  async #dropKnown(batch: IncomingBatch, arrived: readonly Arrived<Tx>[]): Promise<readonly Arrived<Tx>[]> {
    const { processed, kept } = await this.#known.find(arrived.map(({ id }) => id));
    if (processed.size + kept.size === 0) return arrived;
    return arrived.filter((message) => {
      if (!processed.has(message.id) && !kept.has(message.id)) return true;
      this.#tell(message, { kind: kept.has(message.id) ? 'kept' : 'duplicate' });
      batch.acknowledge(message.incoming);
      return false;
    });
  }

  /** @returns false when a part of what was begun is left to a later offer */
  async #enter(batch: IncomingBatch, arrived: readonly Arrived<Tx>[]): Promise<boolean> {
    const { breaker } = this.#context;
    const marks = this.#marks;
    const [first] = arrived;
    if (first === undefined) return true;
    const entry = breaker.enter(batch.address);
    if (entry === 'go') return this.#begin(batch, arrived);
    if (entry !== 'probe') {
      batch.reject(first.incoming, entry);
      return true;
    }
    try {
      const chosen = breaker.choose(batch.address, arrived) ?? first;
      // Messages that may have killed a consumer are tried in order.
      const unsuspected = await marks.begin(batch, [chosen.id]);
      const message = unsuspected ? chosen : first;
      const harmless = unsuspected || (await marks.beginOne(batch, message.id));
      const probe = (): Promise<Settled> => this.#oneByOne.probe(message, batch);
      await this.#settled(batch, message, harmless ? probe : () => this.#killed(message));
    } finally {
      breaker.probeLeft(batch.address);
    }
    return false;
  }

  /** @returns false when a part of them is left to a later offer */
  async #begin(batch: IncomingBatch, arrived: readonly Arrived<Tx>[]): Promise<boolean> {
    const { batchSize } = this.#context.rules;
    const ids = arrived.map(({ id }) => id);
    if (!(await this.#marks.begin(batch, ids))) {
      await this.#searchKiller(batch, arrived);
      // The rest is offered again, no longer under suspicion.
      return false;
    }
    if (batchSize === undefined) return this.#singles(batch, arrived);
    const leading = this.#failedChunks.leading(batch, () => arrived.map(({ incoming }) => incoming.offset));
    if (leading > 0 && !(await this.#singles(batch, arrived.slice(0, leading)))) return false;
    return this.#chunks(batch, arrived.slice(leading), batchSize);
  }

  #mayBegin(batch: IncomingBatch): boolean {
    return batch.mayBegin() && !this.#context.breaker.isPaused(batch.address);
  }

  async #chunks(batch: IncomingBatch, arrived: readonly Arrived<Tx>[], size: number): Promise<boolean> {
    const { breaker } = this.#context;
    for (let from = 0; from < arrived.length; from += size) {
      if (!this.#mayBegin(batch)) return false;
      const chunk = arrived.slice(from, from + size);
      const applied = await this.#applier.apply(chunk, 1, batch.lost).catch((error: unknown) => {
        this.#chunkFailed(chunk, error);
        return undefined;
      });
      if (applied === undefined) {
        if (!(await this.#singles(batch, chunk))) return false;
        continue;
      }
      for (const [n, message] of chunk.entries()) {
        this.#tell(message, applied[n] ?? { kind: 'duplicate' });
        batch.acknowledge(message.incoming);
        if (applied[n]?.kind === 'handled' && breaker.watches(batch.address))
          breaker.succeeded(batch.address, keyNameOf(message));
      }
      if (this.#known.filters) await this.#noted(chunk.filter((_, n) => applied[n]?.kind === 'handled'));
    }
    return true;
  }

  #chunkFailed(chunk: readonly Arrived<Tx>[], error: unknown): void {
    const { report, tally } = this.#context;
    const [first] = chunk;
    // `HoldsKey` is cheap to find again, so the chunk is not remembered.
    if (first === undefined || error instanceof HoldsKey || error instanceof GivenUp) return;
    tally.failedAttempts += 1;
    report({ type: 'attempt-failed', ...positionOf(first), attempt: 1, error });
    this.#failedChunks.failed(
      first.incoming,
      chunk.map(({ incoming }) => incoming.offset),
    );
  }

  async #singles(batch: IncomingBatch, arrived: readonly Arrived<Tx>[]): Promise<boolean> {
    return inKeyOrder(
      arrived,
      this.#context.rules.keyConcurrency,
      ({ topic, key }) => (key === null ? null : `${topic}\0${key}`),
      async (message) =>
        this.#mayBegin(batch) && this.#settled(batch, message, () => this.#oneByOne.settle(message, batch)),
    );
  }

  /** Handles messages one at a time, each with a mark, until none is left that may have killed a consumer. */
  async #searchKiller(batch: IncomingBatch, arrived: readonly Arrived<Tx>[]): Promise<void> {
    const marks = this.#marks;
    for (const message of arrived) {
      if (!this.#mayBegin(batch)) return;
      const harmless = await marks.beginOne(batch, message.id);
      const settle = (): Promise<Settled> =>
        harmless ? this.#oneByOne.settle(message, batch) : this.#killed(message);
      if (!(await this.#settled(batch, message, settle))) return;
      if (!marks.endOne(batch, message.id)) return;
    }
  }

  #killed(message: Arrived<Tx>): Promise<Settled> {
    const error = new Error('Its consumer has died of it, again and again.');
    return this.#oneByOne.park(message, 'killed', error);
  }

  /** @returns false when nothing further may begin */
  async #settled(
    batch: IncomingBatch,
    message: Arrived<Tx>,
    settle: () => Promise<Settled>,
  ): Promise<boolean> {
    const settled = await settle();
    if (settled.kind === 'rejected') batch.reject(message.incoming, settled.afterMs);
    if (settled.kind !== 'done') return false;
    this.#tell(message, settled.applied);
    if (this.#known.filters && settled.applied.kind === 'handled') await this.#noted([message]);
    batch.acknowledge(message.incoming);
    return true;
  }

  async #noted(handled: readonly Arrived<Tx>[]): Promise<void> {
    await this.#known.note(handled.map(({ id }) => id));
  }

  /** The database is unavailable: this partition pauses, others may continue. */
  #undone(batch: IncomingBatch, error: unknown): void {
    const [first] = batch.messages;
    if (first === undefined) return;
    const { address, partition, offset } = first;
    const position = { address, partition, offset };
    const retryInMs = nextPauseMs(this.#failing.attempts(position));
    this.#failing.failed(position, first.header('ce_type'), error);
    const attempt = this.#failing.attempts(position);
    this.#context.report({ type: 'partition-paused', ...position, attempt, error, retryInMs });
    batch.reject(first, retryInMs);
  }

  /** Counts the result, reports it and adds the receipt. */
  #tell(message: Arrived<Tx>, applied: Applied): void {
    const { heard, report, rules, tally } = this.#context;
    const { onFailed, onParked, receipts } = this.#source;
    const { id, way } = message;
    const { kind } = applied;
    tally.count(counterOf(applied));
    if (this.#failing.settled(message.incoming))
      report({ type: 'partition-resumed', ...positionOf(message) });
    if (kind === 'duplicate' || kind === 'kept') this.#known.expectMore();
    if (kind === 'parked') {
      onParked();
      this.#queues.queued(message);
    }
    if (kind === 'failed') onFailed();
    if (receipts !== undefined && way.kind === 'route' && way.topic.rules.confirm?.group === rules.group) {
      const state = kind === 'handled' || kind === 'duplicate' ? 'processed' : 'parked';
      receipts.add({ id, installation: installationOf(message.incoming.header('ce_source')), state });
    }
    if (heard) report(eventOf(message, applied, 1));
  }
}
