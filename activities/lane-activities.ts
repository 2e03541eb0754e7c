import { ApplicationFailure } from '@temporalio/common';
import type { Lane } from '../src/core/lane.ts';
import type { DrainAnswer } from '../src/relay/drain.ts';
import type { Relay } from '../src/relay/relay.ts';
import { withHeartbeat } from './heartbeat.ts';

/** Activities of the lanes' task queue. */
export interface LaneActivities {
  /** Drains one lane for at most a minute. */
  drainLane(lane: Lane): Promise<DrainAnswer>;
}

/** Gives the relay's drain a heartbeat and the cancellation signal. */
export function createLaneActivities(relay: Pick<Relay, 'drain' | 'knows'>): LaneActivities {
  return {
    drainLane: (lane) => {
      // A relay older than the topic: another one delivers it; this one must neither fail nor lose the lane.
      if (!relay.knows(lane.topic)) {
        throw ApplicationFailure.retryable(`This relay does not know the topic "${lane.topic}".`, 'OUTBOX_TOPIC_UNKNOWN');
      }
      return withHeartbeat((signal, progress) => relay.drain(lane, signal, progress));
    },
  };
}
