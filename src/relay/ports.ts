import type { Author } from '../store/audit/author.ts';
import type { BulkStart } from '../store/bulk/starts.ts';
import type { PlaceAnswer } from '../store/installation/twin.ts';
import type { LaneStart, MessageStart } from '../store/lane/starts.ts';
import type { MessageChange } from '../store/message/change-messages.ts';

/**
 * What the relay needs of a workflow engine. Starts are idempotent by workflow id, which is why any number of relays
 * may start the same lane or message.
 */
export interface WorkflowStarter {
  /** Makes sure that the lane's workflow runs; `replace` ends a running one first. */
  startLane(start: LaneStart): Promise<void>;
  /** Makes sure that the message's workflow runs; `replace` ends one that sleeps too long. */
  startMessage(start: MessageStart): Promise<void>;
  /** Makes sure that the workflow of the bulk operation runs; `replace` ends one that sleeps first. */
  startBulk(start: BulkStart): Promise<void>;
  /** Ids of messages whose workflow somebody has ended by force since the last call; some may be named again. */
  terminatedMessages(): Promise<readonly string[]>;
}

/**
 * Withdraws messages as an operator does: pauses topics while relays hold their lanes, and takes several transactions.
 * Each message is answered in the audit, in the transaction that decided about it.
 *
 * @param narrow is put around every change, and decides which rows it may touch
 */
export type Withdraw = (
  ids: readonly string[],
  author: Author,
  narrow: <Result extends string>(change: MessageChange<Result>) => MessageChange<Result>,
) => Promise<unknown>;

/** A page of running workflows of messages. */
export interface RunningMessages {
  /** Ids of the messages. */
  readonly ids: readonly string[];
  /** Names the next page; undefined: this was the last. */
  readonly next?: string;
}

/**
 * What a workflow engine knows about the workflows of messages. Counts, pages and searches come from an index that lags
 * behind by seconds; only {@link WorkflowCensus.isRunning} asks the workflow itself.
 */
export interface WorkflowCensus {
  countRunning(): Promise<number>;
  /** Workflows that have been running for some seconds, about a thousand at a time; `page` is what the page before named as next, empty for the first. */
  listRunning(page: string): Promise<RunningMessages>;
  /** Which of these messages have a running workflow, by the index. */
  findRunning(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Does the workflow of this message run? */
  isRunning(id: string): Promise<boolean>;
  /** Ends the workflow of this message by force. `false`: none ran. */
  end(id: string, reason: string): Promise<boolean>;
}

/**
 * Asks the relays of the installation, by way of the queues that they share, whether their database has the question.
 *
 * @returns the answer of any one of them; undefined: none was there within some seconds, or the signal fired
 */
export type AskPlace = (question: string, signal: AbortSignal) => Promise<PlaceAnswer | undefined>;
