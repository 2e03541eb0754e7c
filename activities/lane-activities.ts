import type { Lane } from '../src/core/lane.ts';
import type { DrainAnswer } from '../src/relay/drain-input.ts';
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
    drainLane: async (lane) => {
      // This relay is older than the topic: it must neither fail nor keep the lane. A relay with the topic restarts it.
      if (!relay.knows(lane.topic)) return 'quiet';
      return withHeartbeat((signal, progress) => relay.drain(lane, signal, progress));
    },
  };
}
