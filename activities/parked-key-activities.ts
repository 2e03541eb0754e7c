import type { KeyDrains, ParkedKeyAnswer } from '../src/inbox/ports.ts';
import { withHeartbeat } from './heartbeat.ts';

/** Activity of the workflow `drainParkedKey`. */
export interface ParkedKeyActivities {
  /** Tries the messages of a parked key, for about a minute at most. */
  drainKey(keyId: string): Promise<ParkedKeyAnswer>;
}

/** A long queue is drained in several runs, so that other keys get the consumer's slots, too. */
const drainTimeoutMs = 60_000;

/** Gives the consumer's drain a heartbeat, a time limit, and the signal of cancels and shutdowns. */
export function createParkedKeyActivities(drains: KeyDrains): ParkedKeyActivities {
  return {
    drainKey: (keyId) =>
      withHeartbeat((signal, progress) =>
        drains.drain(keyId, AbortSignal.any([signal, AbortSignal.timeout(drainTimeoutMs)]), progress),
      ),
  };
}
