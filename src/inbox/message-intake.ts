import { setTimeout as delay } from 'node:timers/promises';
import { passCrashPoint } from '../core/crash-point.ts';
import { installationOf } from '../core/receipt.ts';
import type { IncomingBatch, IncomingMessage, Partition } from '../sources/source.ts';
import { markProcessed } from '../store/inbox/processed.ts';
import { sqlOf, type Transaction } from '../store/transaction.ts';
import type { ConsumerReport } from './consumer-event.ts';
import { type FailingPartition, FailingPartitions } from './failing-partitions.ts';
import type { Receipts } from './receipts.ts';
import { nextTry } from './retry-pace.ts';
import type { ReadyMessage } from './route.ts';
import type { Routes } from './routes.ts';
import type { TransactionClient } from './transaction-client.ts';

/** How many messages ended how, since the start of this consumer. */
export interface ConsumerCounts {
  /** Committed with their effects. */
  readonly handled: number;
  /** Dropped, because their effects were committed before. */
  readonly duplicates: number;
  /** Passed over, being of a topic without a handler here. */
  readonly ignored: number;
  /** Tries that were rolled back. */
  readonly failures: number;
}

export interface MessageIntakeOptions<Tx extends Transaction> {
  readonly client: TransactionClient<Tx>;
  readonly group: string;
  readonly routes: Routes<Tx>;
  readonly quickRetriesMs: readonly number[];
  readonly transactionTimeoutMs: number | undefined;
  readonly report: ConsumerReport;
  /** Told of the messages whose topic asks this group for receipts; `undefined` where none does. */
  readonly receipts: Receipts | undefined;
}

/** What became of one message. */
type Settled =
  | { readonly kind: 'done' }
  | { readonly kind: 'given-up' }
  | { readonly kind: 'pause'; readonly pauseMs: number };

/**
 * Takes batches of one source and applies them message by message, each in one transaction with its id.
 *
 * A partition moves past a message only when its id is committed. So the order holds even while two processes believe
 * that a partition is theirs: the later one waits in the database for the earlier.
 */
export class MessageIntake<Tx extends Transaction> {
  readonly #options: MessageIntakeOptions<Tx>;
  readonly #failing = new FailingPartitions();
  readonly #counts = { handled: 0, duplicates: 0, ignored: 0, failures: 0 };

  constructor(options: MessageIntakeOptions<Tx>) {
    this.#options = options;
  }

  counts(): ConsumerCounts {
    return { ...this.#counts };
  }

  failing(): readonly FailingPartition[] {
    return this.#failing.list();
  }

  assigned(partitions: readonly Partition[]): void {
    this.#failing.keepOnly(partitions);
    this.#options.report({ type: 'assigned', partitions });
  }

  /** @returns how long the partition must rest, or `undefined` */
  async handle(batch: IncomingBatch): Promise<number | undefined> {
    try {
      return await this.#handleAll(batch);
    } finally {
      // Before the source commits the offsets: who sees that the group has passed a message finds its receipt.
      await this.#options.receipts?.flush();
    }
  }

  /** Sends the receipts that still wait. To be called when no batch comes any more. */
  async close(): Promise<void> {
    await this.#options.receipts?.close();
  }

  async #handleAll(batch: IncomingBatch): Promise<number | undefined> {
    for (const message of batch.messages) {
      if (!batch.mayBegin()) return undefined;
      const settled = await this.#settle(message, batch.signal);
      if (settled.kind === 'pause') return settled.pauseMs;
      if (settled.kind === 'given-up') return undefined;
      batch.done(message);
    }
    return undefined;
  }

  /** Tries a message until it is done, the partition is lost, or the quick retries are used up. */
  async #settle(message: IncomingMessage, signal: AbortSignal): Promise<Settled> {
    const { address, partition, offset } = message;
    const position = { address, partition, offset };
    for (;;) {
      const attempt = this.#failing.attempts(position) + 1;
      try {
        await this.#try(message, attempt);
        if (this.#failing.settled(position)) this.#options.report({ type: 'partition-resumed', ...position });
        return { kind: 'done' };
      } catch (error) {
        this.#counts.failures += 1;
        this.#failing.failed(position, message.headers['ce_type'], error);
        const { kind, inMs } = nextTry(this.#options.quickRetriesMs, attempt);
        if (kind === 'after-pause') {
          this.#options.report({ type: 'partition-paused', ...position, attempt, error, retryInMs: inMs });
          return { kind: 'pause', pauseMs: inMs };
        }
        this.#options.report({ type: 'failed', ...position, attempt, error });
        await delay(inMs, undefined, { signal }).catch(() => undefined);
        if (signal.aborted) return { kind: 'given-up' };
      }
    }
  }

  async #try(incoming: IncomingMessage, attempt: number): Promise<void> {
    const { address, partition, offset } = incoming;
    const route = this.#options.routes.find(incoming);
    if (typeof route === 'string') {
      this.#counts.ignored += 1;
      const id = incoming.headers['ce_id'] ?? '';
      this.#options.report({ type: 'ignored', id, topic: route, address, partition, offset });
      return;
    }
    const message = await route.read(incoming, attempt);
    const applied = await this.#apply(message);
    const { group, receipts } = this.#options;
    if (route.topic.rules.confirm?.group === group) {
      receipts?.add({ id: message.id, installation: installationOf(incoming.headers['ce_source']) });
    }
    const identified = { id: message.id, topic: route.topic.name, address, partition, offset };
    if (applied) {
      this.#counts.handled += 1;
      this.#options.report({ type: 'handled', ...identified, attempt });
    } else {
      this.#counts.duplicates += 1;
      this.#options.report({ type: 'duplicate', ...identified });
    }
  }

  /** @returns false for a duplicate */
  async #apply({ id, topic, handle }: ReadyMessage<Tx>): Promise<boolean> {
    const { client, group, transactionTimeoutMs } = this.#options;
    const applied = await client.$transaction(
      async (tx) => {
        if (!(await markProcessed(sqlOf(tx), group, id, topic))) return false;
        await handle(tx);
        passCrashPoint('inbox:handled');
        return true;
      },
      transactionTimeoutMs === undefined ? undefined : { timeout: transactionTimeoutMs },
    );
    if (applied) passCrashPoint('inbox:committed');
    return applied;
  }
}
