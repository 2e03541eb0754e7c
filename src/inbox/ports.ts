import type { BulkStart } from '../store/bulk/starts.ts';

/**
 * What happens to an existing run when a workflow is started: it continues; it is ended if it is idle and nothing is due;
 * or it is ended in any case.
 */
export type Replacing = 'never' | 'if-idle' | 'always';

/** A parked key whose workflow should run. */
export interface ParkedKeyStart {
  /** UUID of the row in `outbox.parked_key`. */
  readonly keyId: string;
  readonly workflowId: string;
  readonly topic: string;
  /** `null`: one message without a key. */
  readonly key: string | null;
  /** When its first message is tried; 0 or less: now. */
  readonly dueInMs: number;
  readonly replace: Replacing;
}

/** Starts workflows of parked keys; any number of consumers may start the same one. */
export interface ParkedKeyWorkflows {
  start(key: ParkedKeyStart): Promise<void>;
  /** Asks whether they could be started. Rejects if not, within some seconds. */
  check(): Promise<void>;
  /** Whether workers of this process run, as far as it knows. */
  hosting(): boolean;
}

/** Runs bulk operations on messages that a group keeps; any number of its consumers may start and host the same one. */
export interface BulkWorkflows {
  /** Makes this process a host of them; later calls do nothing. */
  host(): Promise<void>;
  /** Ensures that the workflow of a bulk operation runs. */
  start(bulk: BulkStart): Promise<void>;
}

/** How a drain of a parked key ended. */
export type ParkedKeyAnswer =
  /** No message is left: the key is free again. */
  | { readonly kind: 'drained' }
  /** When the next try is due. */
  | { readonly kind: 'waiting'; readonly inMs: number }
  /** A failed message blocks the key until a person decides. */
  | { readonly kind: 'blocked' };

/** Tries the messages of a parked key, in order, until none is left or one must wait. */
export interface KeyDrains {
  /**
   * @param signal ends the drain and leaves the rest to the next one
   * @param progress called now and then while it works
   * @param standIn set for a drain in place of a workflow
   */
  drain(
    keyId: string,
    signal: AbortSignal,
    progress: () => void,
    standIn?: StandInRules,
  ): Promise<ParkedKeyAnswer>;
}

/** A stand-in ends at once if the key is in other hands, instead of waiting for a moment. */
export interface StandInRules {
  /** Ends it after the try in hand, with its quick retries: a workflow takes the key over. */
  readonly leave: AbortSignal;
}
