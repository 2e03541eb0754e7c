import type { BulkStart } from '../store/bulk/starts.ts';
import type { PlaceAnswer } from '../store/installation/twin.ts';
import type { LaneStart, MessageStart } from '../store/lane/starts.ts';
import type { MissedTimes, WantedSchedule } from '../store/schedule/follow.ts';

/**
 * What the relay needs from a workflow engine. Starts are idempotent by workflow id, so any number of relays may start the
 * same lane or message.
 */
export interface WorkflowStarter {
  /** Ensures that the lane's workflow runs; `replace` ends a running one first. */
  startLane(start: LaneStart): Promise<void>;
  /** Ensures that the message's workflow runs; `replace` ends one that sleeps too long. */
  startMessage(start: MessageStart): Promise<void>;
  /** Ensures that the workflow of the bulk operation runs; `replace` first ends one that sleeps. */
  startBulk(start: BulkStart): Promise<void>;
  /** Ids of messages whose workflow was terminated since the last call; may repeat ids of earlier calls. */
  terminatedMessages(): Promise<readonly string[]>;
}

/** A page of running workflows of messages. */
export interface RunningMessages {
  /** Ids of the messages. */
  readonly ids: readonly string[];
  /** Token of the next page; `undefined`: this was the last. */
  readonly next?: string;
}

/**
 * What a workflow engine knows about the workflows of messages. Counts, pages and searches come from an index that lags
 * behind by seconds; only {@link WorkflowCensus.isRunning} queries the workflow itself.
 */
export interface WorkflowCensus {
  countRunning(): Promise<number>;
  /** Workflows that have been running for some seconds, about a thousand at a time; `page` is the token of the page, empty for the first. */
  listRunning(page: string): Promise<RunningMessages>;
  /** Which of these messages have a running workflow, according to the index. */
  findRunning(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Whether the workflow of this message runs. */
  isRunning(id: string): Promise<boolean>;
  /** Terminates the workflow of this message. @returns false if none ran */
  end(id: string, reason: string): Promise<boolean>;
}

/**
 * Asks the relays of the installation, over the task queues that they share, whether their database has the question.
 *
 * @returns the answer of one relay; `undefined`: none answered within some seconds, or the signal fired
 */
export type AskPlace = (question: string, signal: AbortSignal) => Promise<PlaceAnswer | undefined>;

/** What repeats messages: it asks a relay to write the message of each schedule at its times. Calls are idempotent. */
export interface Repeater {
  /** The next times of the schedule, in order; `undefined`: it does not exist, or differs. */
  nextTimes(schedule: WantedSchedule): Promise<readonly Date[] | undefined>;
  /**
   * Creates the schedule, or changes what differs, and repeats the times that it missed, unless it is paused.
   *
   * @returns its next times, in order
   */
  follow(schedule: WantedSchedule, missed: MissedTimes): Promise<readonly Date[]>;
  /** Deletes the schedule, if it exists. */
  drop(name: string): Promise<void>;
}
