import type { BulkStart } from '../store/bulk/starts.ts';

/**
 * What becomes of the run that there is, when a workflow is started: it goes on; it is ended if it does nothing and has
 * nothing before it; or it is ended, whatever it does.
 */
export type Replacing = 'never' | 'if-idle' | 'always';

/** A parked key that should have its workflow. */
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

/** How workflows of parked keys are started; any number of consumers may start the same one. */
export interface ParkedKeyWorkflows {
  start(key: ParkedKeyStart): Promise<void>;
}

/** How bulk operations on what a group keeps are carried out; any number of its consumers may start, and host, the same one. */
export interface BulkWorkflows {
  /** Makes this process one of those that carry them out; later calls do nothing. */
  host(): Promise<void>;
  /** Makes sure that the workflow of one runs. */
  start(bulk: BulkStart): Promise<void>;
}

/** What a drain of a parked key ended with. */
export type ParkedKeyAnswer =
  /** No message is left: the key is free again. */
  | { readonly kind: 'drained' }
  /** The next try is due then. */
  | { readonly kind: 'waiting'; readonly inMs: number }
  /** A failed message holds the key until a person decides. */
  | { readonly kind: 'held' };

/** Tries the messages of a parked key, in order, until none is left or one must wait. */
export interface KeyDrains {
  /**
   * @param signal the rest is left to the next drain
   * @param progress called now and then while it works
   */
  drain(keyId: string, signal: AbortSignal, progress: () => void): Promise<ParkedKeyAnswer>;
}
