import type { DrainKeyAnswer, KeyDrains } from '../src/inbox/ports.ts';
import { withHeartbeat } from './heartbeat.ts';

/** Activity of the workflow `handleMessage`. */
export interface InboxActivities {
  /** Tries the messages of a parked key, for about a minute at most. */
  handleParked(keyId: string): Promise<DrainKeyAnswer>;
}

/** A long queue is drained in runs, so that the slots of a consumer go round. */
const runMs = 60_000;

/** Gives the consumer's drain a heartbeat, an end, and the signal of cancels and shutdowns. */
export function createInboxActivities(drains: KeyDrains): InboxActivities {
  return {
    handleParked: (keyId) =>
      withHeartbeat((signal, progress) =>
        drains.drain(keyId, AbortSignal.any([signal, AbortSignal.timeout(runMs)]), progress),
      ),
  };
}
