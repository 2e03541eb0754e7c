import { ProgressWatch } from '../../core/progress-watch.ts';
import type { Slot, Slots } from '../../core/slots.ts';
import type { KeyDrains, ParkedKeyAnswer } from '../ports.ts';

/** A long queue is drained in several runs, so that other keys have their turns, too. */
const runMs = 60_000;
/** A drain counts as stuck after this time without progress, as a workflow's does by its heartbeat. */
const stuckAfterMs = 30_000;
/** How often a drain that waits for a slot reports progress. */
const waitingEveryMs = 1_000;
/** After a failed drain, for example while the database is away, none begins for this time. */
const afterFailureMs = 1_000;
/** Keys that wait for a slot: as many as one look finds. */
const maxQueued = 100;

export interface KeyStandInsInput {
  readonly drains: KeyDrains;
  /** Shared by the drains of workflows and by stand-ins. */
  readonly slots: Slots;
  /** A stand-in failed; its key is found again by a later look. Must not throw. */
  readonly failed: (error: unknown, retryInMs: number) => void;
  /** Called when the last key that was offered has been drained. */
  readonly drained: () => void;
}

interface StandIn {
  leave(): void;
  readonly over: Promise<void>;
}

/**
 * Drains parked keys that nobody drains, in place of their workflows: these may be late, lost, or Temporal may be away. The
 * first to begin a try has it, so workflows and stand-ins of any number of consumers may meet; within a process the workflow
 * takes over. It is also what the workflows of this process call, because both share its slots.
 */
export class KeyStandIns implements KeyDrains {
  readonly #input: KeyStandInsInput;
  readonly #queue = new Set<string>();
  readonly #running = new Map<string, StandIn>();
  /** Keys whose workflow drains them here, or waits for a slot. */
  readonly #supervised = new Set<string>();
  readonly #stopping = new AbortController();
  #pausedUntil = Number.NEGATIVE_INFINITY;

  constructor(input: KeyStandInsInput) {
    this.#input = input;
  }

  /** Number of keys that would be drained at once. */
  get room(): number {
    return Math.max(0, this.#input.slots.free - this.#queue.size);
  }

  /** Drains a key for its workflow, once its stand-in has ended and a slot is free. */
  async drain(keyId: string, signal: AbortSignal, progress: () => void): Promise<ParkedKeyAnswer> {
    const { drains, slots } = this.#input;
    this.#queue.delete(keyId);
    this.#supervised.add(keyId);
    try {
      const standIn = this.#running.get(keyId);
      standIn?.leave();
      // Without progress: if it hangs, the workflow turns to another consumer.
      await standIn?.over;
      const waiting = setInterval(progress, waitingEveryMs);
      const slot = await slots.take(signal).finally(() => clearInterval(waiting));
      if (slot === undefined) return { kind: 'waiting', inMs: 0 };
      try {
        return await drains.drain(keyId, signal, progress);
      } finally {
        slot.free();
        this.#next();
      }
    } finally {
      this.#supervised.delete(keyId);
    }
  }

  /** Drains these keys as slots become free, in their order. */
  offer(keyIds: readonly string[]): void {
    for (const keyId of keyIds) {
      if (this.#queue.size >= maxQueued) break;
      if (!this.#running.has(keyId) && !this.#supervised.has(keyId)) this.#queue.add(keyId);
    }
    this.#next();
  }

  /** Begins no other drain; resolves when the running ones have ended, each after its current message. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#queue.clear();
    await Promise.all([...this.#running.values()].map(({ over }) => over));
  }

  #next(): void {
    if (this.#stopping.signal.aborted || performance.now() < this.#pausedUntil) return;
    for (const keyId of this.#queue) {
      const slot = this.#input.slots.tryTake();
      if (slot === undefined) return;
      this.#queue.delete(keyId);
      this.#begin(keyId, slot);
    }
  }

  #begin(keyId: string, slot: Slot): void {
    const leaving = new AbortController();
    const watch = new ProgressWatch(stuckAfterMs);
    const signal = AbortSignal.any([this.#stopping.signal, watch.signal, AbortSignal.timeout(runMs)]);
    const run = async (): Promise<void> => {
      // It is among the running ones before it can end.
      await Promise.resolve();
      try {
        await this.#input.drains.drain(keyId, signal, watch.progress, { leave: leaving.signal });
      } catch (error) {
        this.#failure(error);
      } finally {
        watch.end();
        this.#running.delete(keyId);
        slot.free();
      }
      this.#next();
      if (this.#queue.size === 0 && !this.#stopping.signal.aborted) this.#input.drained();
    };
    const over = run();
    this.#running.set(keyId, { leave: () => leaving.abort(), over });
  }

  #failure(error: unknown): void {
    // All that wait would probably fail, too; a look finds them again.
    this.#queue.clear();
    this.#pausedUntil = performance.now() + afterFailureMs;
    if (!this.#stopping.signal.aborted) this.#input.failed(error, afterFailureMs);
  }
}
