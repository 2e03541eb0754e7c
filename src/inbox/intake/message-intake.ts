import type { IncomingBatch, Partition } from '../../brokers/source.ts';
import type { Transaction } from '../../store/database/transaction.ts';
import type { ConsumerContext } from '../consumer-context.ts';
import { type Arrived, identify } from '../handling/arrived.ts';
import { Applier } from './applier.ts';
import { Application } from './apply.ts';
import { type FailingPartition, FailingPartitions } from './failing-partitions.ts';
import { Gathering } from './gathering.ts';
import type { IntakeContext, IntakeSource } from './intake-context.ts';
import { KeyQueues } from './key-queues.ts';
import { KnownMessages } from './known-messages.ts';
import { Outcomes } from './outcomes.ts';
import { PoisonMarks } from './poison-marks.ts';
import { OneByOne } from './settle-one.ts';
import { askBreaker, dropKnown, fillBatches, inSteps, mark, type Next, waitForQueues } from './steps.ts';

/**
 * Takes batches of one source and applies their messages, each with effect once.
 *
 * A message is acknowledged only after its id is committed, with its effects or with the kept message. So nothing is
 * lost, and the order holds even while two processes believe that they own a partition: in the database, the later one
 * waits for the earlier.
 */
export class MessageIntake<Tx extends Transaction> {
  readonly #context: IntakeContext<Tx>;
  readonly #application: Application<Tx>;
  readonly #gathering: Gathering | undefined;
  readonly #run: Next<Tx>;

  constructor(consumer: ConsumerContext<Tx>, source: IntakeSource<Tx>) {
    const context = {
      ...consumer,
      ...source,
      applier: new Applier(consumer),
      failing: new FailingPartitions(consumer.report),
      known: new KnownMessages(consumer),
      marks: new PoisonMarks(consumer),
      queues: new KeyQueues(consumer),
    };
    const outcomes = new Outcomes(context);
    const oneByOne = new OneByOne(context, outcomes);
    const application = new Application(context, oneByOne, outcomes);
    this.#context = context;
    this.#application = application;
    const { batchSize: size, batchWaitMs: waitMs } = consumer.rules;
    this.#gathering = size && waitMs ? new Gathering({ size, waitMs }) : undefined;
    this.#run = inSteps([
      fillBatches(this.#gathering),
      dropKnown(context, outcomes),
      waitForQueues(context),
      askBreaker(context),
      mark(context, oneByOne),
      (round) => application.apply(round),
    ]);
  }

  failing(): readonly FailingPartition[] {
    return this.#context.failing.list();
  }

  assigned(partitions: readonly Partition[]): void {
    this.#context.failing.keepOnly(partitions);
    this.#application.keepOnly(partitions);
    this.#gathering?.keepOnly(partitions);
    this.#context.marks.keepOnly(partitions);
    this.#context.report({ type: 'assigned', partitions });
  }

  /** Handles messages and acknowledges or rejects each. The promise never rejects. */
  async handle(batch: IncomingBatch): Promise<void> {
    const { tally } = this.#context;
    tally.inFlight += batch.messages.length;
    this.#context.failing.offered(batch, () => batch.messages.map(({ offset }) => offset));
    try {
      await this.#run({ batch, messages: this.#identified(batch) });
    } catch (error) {
      this.#undone(batch, error);
    } finally {
      tally.inFlight -= batch.messages.length;
      // Before the source commits the offsets, so that receipts normally precede the group's committed position.
      await this.#context.receipts?.flush();
    }
  }

  /** To be called after the last batch. */
  async close(): Promise<void> {
    await this.#context.marks.clear().catch(() => undefined);
  }

  #identified(batch: IncomingBatch): readonly Arrived<Tx>[] {
    const { report, tally } = this.#context;
    const arrived: Arrived<Tx>[] = [];
    for (const incoming of batch.messages) {
      const one = identify(incoming, this.#context.lookup);
      if ('id' in one) {
        arrived.push(one);
        continue;
      }
      tally.count('ignored', one.ignored);
      const { address, partition, offset } = incoming;
      const id = incoming.header('ce_id') ?? '';
      report({ type: 'ignored', id, topic: one.ignored, address, partition, offset });
      batch.acknowledge(incoming);
    }
    return arrived;
  }

  /** The database is unavailable: this partition pauses, others may continue. */
  #undone(batch: IncomingBatch, error: unknown): void {
    const [first] = batch.messages;
    if (first === undefined) return;
    batch.reject(first, this.#context.failing.pause(first, first.header('ce_type'), error));
  }
}
