import type { LaneStart, MessageStart } from '../store/starts.ts';

/**
 * What the relay needs of a workflow engine. Starts are idempotent by workflow id, which is why any number of relays
 * may start the same lane or message.
 */
export interface WorkflowStarter {
  /** Makes sure that the lane's workflow runs; `replace` ends a running one first. */
  startLane(start: LaneStart): Promise<void>;
  /** Makes sure that the message's workflow runs; `replace` ends one that sleeps too long. */
  startMessage(start: MessageStart): Promise<void>;
  /** Ids of messages whose workflow somebody has ended by force since the last call; some may be named again. */
  terminatedMessages(): Promise<readonly string[]>;
}
