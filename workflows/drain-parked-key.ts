import { continueAsNew, proxyActivities, setCurrentDetails, sleep, workflowInfo } from '@temporalio/workflow';
import type { ParkedKeyActivities } from '../activities/parked-key-activities.ts';

const { drainKey } = proxyActivities<ParkedKeyActivities>({
  // A drain takes no further message after a minute; the remaining time is for the one in hand, which may be slow.
  startToCloseTimeout: '10 minutes',
  heartbeatTimeout: '5 seconds',
  // A cancel or a shutdown reaches the drain, which ends after the message in hand.
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  // Otherwise the consumer that runs the workflow would nearly always get the try, even of a message that only another handles.
  allowEagerDispatch: false,
  // Without a maximum the pause would grow to 100 times the first, so delivery would resume minutes after an outage.
  retry: { initialInterval: '200 milliseconds', maximumInterval: '1 second' },
});

/** Ids and times only: the messages stay in the database, so a history's size does not depend on them. */
export interface DrainParkedKeyInput {
  /** UUID of the row in `outbox.parked_key`. */
  readonly keyId: string;
  /** Milliseconds until the next try, by the database's clock at the start. An absolute time would trust two clocks. */
  readonly dueInMs: number;
}

/** How the drain of a parked key ended. */
export interface DrainParkedKeyResult {
  /** `drained`: the key is free again. `blocked`: a failed message blocks it until a person decides. */
  readonly state: 'drained' | 'blocked';
}

/** Minimum pause, so that a drain that keeps answering "at once" does not spin. */
const shortestPauseMs = 100;

/**
 * Tries the parked messages of one key in order, when they are due, until none is left or a failed one blocks the key.
 *
 * The rows decide: after an early wake-up it sleeps again. It needs no signals, and cancel and terminate do no harm:
 * consumers start it again when a try is overdue, or when a person has decided about the failed message.
 */
export async function drainParkedKey({ keyId, dueInMs }: DrainParkedKeyInput): Promise<DrainParkedKeyResult> {
  let pauseMs = dueInMs;
  for (;;) {
    // For the Temporal UI; not a workflow command.
    setCurrentDetails(`The next try is ${Math.ceil(pauseMs / 1_000)} s from the start of the last timer.`);
    if (pauseMs > 0) await sleep(pauseMs);
    if (workflowInfo().continueAsNewSuggested)
      return continueAsNew<typeof drainParkedKey>({ keyId, dueInMs: 0 });
    const answer = await drainKey(keyId);
    if (answer.kind !== 'waiting') return { state: answer.kind };
    pauseMs = Math.max(answer.inMs, shortestPauseMs);
  }
}
