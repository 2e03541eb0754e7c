import type { Source } from '../brokers/source.ts';
import type { BulkRunner } from '../bulk/bulk-runner.ts';
import type { Topic } from '../core/topic.ts';
import type { Transaction } from '../store/database/transaction.ts';
import type { ConsumerReport } from './consumer-event.ts';
import type { ConsumerRules, ConsumerSettings } from './consumer-options.ts';
import type { ReceiptSender } from './handling/receipts.ts';
import type { Middleware } from './middleware.ts';
import type { DeadLetterSender } from './parked/dead-letters.ts';
import type { BulkWorkflows, KeyDrains, ParkedKeyWorkflows } from './ports.ts';
import type { Route } from './route.ts';
import type { TransactionClient } from './transaction-client.ts';

/** The workflows of parked keys and of bulk operations on what the group keeps, and the workers that run them. */
export interface HostedParkedKeys {
  /**
   * The first `start` connects, and begins to host the group's workflows. While Temporal is unreachable, it rejects within
   * some seconds; the start may be repeated.
   */
  readonly workflows: ParkedKeyWorkflows;
  /** The first `host` starts a worker for them. */
  readonly bulks: BulkWorkflows;
  /**
   * Ends the hosting; resolves when the running drains have ended, each after its current message. From now on starts
   * reject, so the watcher of parked keys must have been stopped first.
   */
  stop(): Promise<void>;
}

/** The process of a consumer, for display. */
export interface ConsumerProcess {
  readonly host: string;
  readonly pid: number;
  /** Version of this package. */
  readonly version: string;
}

/** What a consumer needs from outside. */
export interface ConsumerParts<Tx extends Transaction> {
  readonly client: TransactionClient<Tx>;
  /** The client for queries at a start, when the database may not be up yet. @defaultValue the client itself */
  readonly whenReached?: (
    client: TransactionClient<Tx>,
    report: ConsumerReport,
    stopping: AbortSignal,
  ) => TransactionClient<Tx>;
  readonly settings: ConsumerSettings;
  /** All topics of the configuration, so that a topic without a handler here is not taken for an unknown one. */
  readonly topics: readonly Topic[];
  /** Where messages of a topic arrive: the same object for topics of the same broker. */
  readonly sourceOf: (topic: Topic) => Source;
  /** Sends the receipts of a topic. */
  readonly receiptSenderOf: (topic: Topic) => ReceiptSender;
  /** Sends copies of failed messages to the broker of these topics. */
  readonly deadLetterSenderOf: (topics: readonly Topic[]) => DeadLetterSender;
  /** Of this consumer. */
  readonly processInfo: ConsumerProcess;
  /** Needs nothing until the first key is parked, or the first bulk operation is started. */
  readonly hostParkedKeys: (input: ParkedKeysPlan) => HostedParkedKeys;
}

/** The parked keys of a group, and who drains them. */
export interface ParkedKeysPlan {
  /** UUID of the installation in whose database the group keeps its messages. */
  readonly installation: string;
  readonly group: string;
  readonly drains: KeyDrains;
  /** Runs bulk operations on messages that the group keeps. */
  readonly bulk: BulkRunner;
  /** Number of keys that this process drains concurrently, 1 or more. */
  readonly concurrency: number;
  /** Called with the error that ended a worker, which is recreated. Must not throw. */
  readonly failed: (error: unknown) => void;
}

/** A consumer's handlers and rules. */
export interface ConsumerPlan<Tx extends Transaction> extends ConsumerParts<Tx> {
  readonly rules: ConsumerRules;
  readonly routes: readonly Route<Tx>[];
  /** Outermost first. */
  readonly middlewares: readonly Middleware[];
}
