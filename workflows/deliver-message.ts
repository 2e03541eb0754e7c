import {
  CancellationScope,
  CancelledFailure,
  condition,
  continueAsNew,
  proxyActivities,
  setCurrentDetails,
  workflowInfo,
} from '@temporalio/workflow';
import type { MessageActivities } from '../activities/message-activities.ts';

const { releaseMessage, cancelMessage } = proxyActivities<MessageActivities>({
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '200 milliseconds', maximumInterval: '1 second' },
});

/** Ids and times only: payloads stay in the database, so a history's size does not depend on the message. */
export interface DeliverMessageInput {
  /** UUID of the message. */
  readonly id: string;
  /** Milliseconds until it is due, by the database's clock at the start. An absolute time would trust two clocks. */
  readonly dueInMs: number;
}

/** How a message ended. */
export interface DeliverMessageResult {
  /** Its state at the end; `unknown`: its row is gone. */
  readonly state: string;
  /** Its partition, from 0; null or absent: not published, or not in its row. */
  readonly partition?: number | null;
  /** Its offset, as text; null or absent as `partition`. */
  readonly offset?: string | null;
}

const lockedPauseMs = 200;
const firstPollMs = 1_000;
const longestPollMs = 5 * 60_000;

/**
 * Sleeps until its message is due, hands it to its lane, and ends with the outcome.
 *
 * The row decides: after an early wake-up it sleeps again, and if the message was canceled meanwhile it ends. Cancel in the
 * Temporal UI cancels the message; if that is too late, the workflow continues as a new run.
 */
export async function deliverMessage(input: DeliverMessageInput): Promise<DeliverMessageResult> {
  const root = CancellationScope.current();
  let cancelRequested = false;
  root.cancelRequested.catch(() => {
    cancelRequested = true;
  });
  // After a cancel of the root every sleep and activity in it fails, so the work runs in a scope of its own.
  return CancellationScope.nonCancellable(async () => {
    let pauseMs = input.dueInMs;
    let pollMs = firstPollMs;
    let handed = false;
    for (;;) {
      setCurrentDetails(inWords(handed, pauseMs));
      await condition(() => cancelRequested, pauseMs);
      if (cancelRequested) return cancelOrContinue(input.id);
      if (workflowInfo().continueAsNewSuggested)
        return continueAsNew<typeof deliverMessage>({ id: input.id, dueInMs: 0 });
      const answer = await releaseMessage(input.id);
      switch (answer.kind) {
        case 'done':
          return { state: answer.state, partition: answer.partition, offset: answer.offset };
        case 'unknown':
          return { state: 'unknown' };
        case 'waiting':
          handed = false;
          pauseMs = answer.dueInMs;
          pollMs = firstPollMs;
          break;
        case 'locked':
          pauseMs = lockedPauseMs;
          break;
        case 'ready':
          handed = true;
          pauseMs = pollMs;
          pollMs = Math.min(2 * pollMs, longestPollMs);
      }
    }
  });
}

/** The details for the Temporal UI; not a workflow command. */
function inWords(handed: boolean, pauseMs: number): string {
  const seconds = Math.ceil(pauseMs / 1_000);
  return handed
    ? 'Handed to its lane, which delivers it in order; polls for the outcome.'
    : `Sleeps until it is due, ${seconds} s from the start of its last timer.`;
}

async function cancelOrContinue(id: string): Promise<never> {
  if ((await cancelMessage(id)) === 'canceled') throw new CancelledFailure('The message was canceled.');
  return continueAsNew<typeof deliverMessage>({ id, dueInMs: 0 });
}
