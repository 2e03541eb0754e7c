import type { ConsumerReport, PausedAddress } from '../consumer-event.ts';
import { type ToldFailure, toldError } from '../told-error.ts';
import type { Arrived } from './arrived.ts';

/** When an address pauses. */
export interface BreakerRules {
  /** This many distinct keys must have failed, and more than half of the last four times as many. */
  readonly keys: number;
  /** Longest time between probes. */
  readonly longestPauseMs: number;
}

/** Whether a message may begin: normally, as the probe, or not before this many milliseconds. */
export type Entry = 'go' | 'probe' | number;

interface Pause extends Pick<PausedAddress, 'since' | 'failedKeys' | 'keys'> {
  error: unknown;
  errorText: string;
  probes: number;
  /** By `performance.now()`. */
  nextProbeMs: number;
  probing: boolean;
}

/** The state of an address with recent failures. */
interface Health {
  /** Whether the last message of each key has failed, the latest key last. */
  readonly failedByKey: Map<string, boolean>;
  lastFailureMs: number;
  pause: Pause | undefined;
  /** Current time between probes; it keeps growing if one pause soon follows another. */
  pauseMs: number;
}

const firstPauseMs = 1_000;
/** Older failures are ignored. */
const memoryMs = 5 * 60_000;
/** Waiting partitions check again after this time at the latest, to notice the end of a pause. */
const longestWaitMs = 5_000;
/** The wait while a probe is running. */
const shortestWaitMs = 200;

/**
 * Distinguishes an unavailable dependency from bad messages: an address pauses when most of its keys fail.
 *
 * It counts distinct keys, each by the result of its last message, once the quick tries or the first parked try failed.
 * So a failing key counts once, however often it is tried, and keys that succeed outweigh a few bad ones. While an
 * address is paused, none of its messages is parked and no try is counted. One message at a time probes, at growing
 * intervals, a different one each time, so that a bad message cannot extend the pause; the first success ends it.
 */
export class Breaker {
  readonly #rules: BreakerRules | undefined;
  readonly #report: ConsumerReport;
  /** Addresses with recent failures: nearly always none. */
  readonly #byAddress = new Map<string, Health>();

  /** @param rules `undefined`: it never pauses anything */
  constructor(rules: BreakerRules | undefined, report: ConsumerReport) {
    this.#rules = rules;
    this.#report = report;
  }

  /** Whether successes must be reported, because of recent failures. */
  watches(address: string): boolean {
    return this.#byAddress.size > 0 && this.#byAddress.has(address);
  }

  isPaused(address: string): boolean {
    return this.#byAddress.size > 0 && this.#byAddress.get(address)?.pause !== undefined;
  }

  paused(): readonly PausedAddress[] {
    return [...this.#byAddress].flatMap(([address, { pause }]) =>
      pause === undefined ? [] : [{ address, ...told(pause) }],
    );
  }

  /** To be called before a message begins. After `probe` the caller reports the result or calls {@link probeLeft}. */
  enter(address: string): Entry {
    const pause = this.#byAddress.get(address)?.pause;
    if (pause === undefined) return 'go';
    const leftMs = pause.nextProbeMs - performance.now();
    if (leftMs <= 0 && !pause.probing) {
      pause.probing = true;
      return 'probe';
    }
    return this.waitMs(address);
  }

  /** Lets `work` begin as {@link enter} allows, and makes sure that a probe ends; otherwise returns the result of `wait`. */
  async pass<Result>(
    address: string,
    work: (entry: 'go' | 'probe') => Promise<Result>,
    wait: (ms: number) => Result | Promise<Result>,
  ): Promise<Result> {
    const entry = this.enter(address);
    if (typeof entry === 'number') return wait(entry);
    try {
      return await work(entry);
    } finally {
      if (entry === 'probe') this.probeLeft(address);
    }
  }

  /** Current time between probes; also the retry interval for messages that wait in the database. */
  intervalMs(address: string): number {
    return this.#byAddress.get(address)?.pauseMs ?? 0;
  }

  /** How long a caller that may not begin should wait before it calls again. */
  waitMs(address: string): number {
    const nextProbeMs = this.#byAddress.get(address)?.pause?.nextProbeMs ?? 0;
    const leftMs = Math.max(nextProbeMs - performance.now(), shortestWaitMs);
    // Jitter, so that the first is not always the same partition.
    return Math.min(leftMs, longestWaitMs) * (1 + Math.random() / 5);
  }

  /** The message to probe with: rotates through the first message of each key. */
  choose<Tx>(address: string, messages: readonly Arrived<Tx>[]): Arrived<Tx> | undefined {
    const firsts = new Map<string, Arrived<Tx>>();
    for (const message of messages) {
      const name = keyNameOf(message);
      if (!firsts.has(name)) firsts.set(name, message);
    }
    const probes = this.#byAddress.get(address)?.pause?.probes ?? 0;
    return [...firsts.values()][probes % firsts.size];
  }

  succeeded(address: string, key: string, entry: Entry = 'go'): void {
    const health = this.#byAddress.get(address);
    if (health === undefined) return;
    const { failedByKey, lastFailureMs, pause } = health;
    if (pause === undefined) {
      this.#note(failedByKey, key, false);
      if (performance.now() - lastFailureMs > memoryMs) this.#byAddress.delete(address);
    } else if (entry === 'probe') {
      health.pause = undefined;
      failedByKey.clear();
      this.#report({ type: 'address-resumed', address, since: pause.since });
    }
  }

  /**
   * @param parked whether the message was parked: bad ones are retried together and must not outweigh earlier successes
   * @returns true when the address is paused: then the message is not parked, and the try is not counted
   */
  failed(address: string, key: string, failure: ToldFailure, parked = false): boolean {
    if (this.#rules === undefined) return false;
    const nowMs = performance.now();
    const health = this.#byAddress.get(address) ?? {
      failedByKey: new Map<string, boolean>(),
      lastFailureMs: nowMs,
      pause: undefined,
      pauseMs: 0,
    };
    this.#byAddress.set(address, health);
    if (health.pause !== undefined) return true;
    if (nowMs - health.lastFailureMs > memoryMs) {
      health.failedByKey.clear();
      health.pauseMs = 0;
    }
    health.lastFailureMs = nowMs;
    if (!parked || health.failedByKey.size < this.#maxKeys) this.#note(health.failedByKey, key, true);
    const failed = [...health.failedByKey.values()].filter(Boolean).length;
    if (failed < this.#rules.keys || 2 * failed <= health.failedByKey.size) return false;
    health.pause = {
      since: new Date(),
      error: failure.error,
      errorText: toldError(failure),
      failedKeys: failed,
      keys: health.failedByKey.size,
      probes: 0,
      nextProbeMs: 0,
      probing: false,
    };
    this.#prolong(address, health, health.pause);
    return true;
  }

  probeFailed(address: string, failure: ToldFailure): void {
    const health = this.#byAddress.get(address);
    if (health?.pause === undefined) return;
    health.pause.error = failure.error;
    health.pause.errorText = toldError(failure);
    health.pause.probes += 1;
    health.pause.probing = false;
    this.#prolong(address, health, health.pause);
  }

  /** To be called when a probe was not tried, because it had expired: the next one need not wait. */
  probeVoid(address: string): void {
    const pause = this.#byAddress.get(address)?.pause;
    if (pause === undefined || !pause.probing) return;
    pause.probing = false;
    pause.nextProbeMs = 0;
  }

  /** To be called when a probe ends; no effect if its result was reported, else it was inconclusive. */
  probeLeft(address: string): void {
    const pause = this.#byAddress.get(address)?.pause;
    if (pause === undefined || !pause.probing) return;
    pause.probing = false;
    pause.nextProbeMs = performance.now() + firstPauseMs;
  }

  #prolong(address: string, health: Health, pause: Pause): void {
    const most = this.#rules?.longestPauseMs ?? 0;
    health.pauseMs = Math.min(Math.max(2 * health.pauseMs, firstPauseMs), most);
    pause.nextProbeMs = performance.now() + health.pauseMs;
    this.#report({ type: 'address-paused', address, ...told(pause) });
  }

  #note(failedByKey: Map<string, boolean>, key: string, failed: boolean): void {
    failedByKey.delete(key);
    failedByKey.set(key, failed);
    const [oldest] = failedByKey.keys();
    if (oldest !== undefined && failedByKey.size > this.#maxKeys) failedByKey.delete(oldest);
  }

  get #maxKeys(): number {
    return 4 * (this.#rules?.keys ?? 0);
  }
}

function told(pause: Pause): Omit<PausedAddress, 'address'> {
  const { error, errorText, failedKeys, keys, nextProbeMs, probes, since } = pause;
  const inMs = Math.max(0, nextProbeMs - performance.now());
  return { since, error, errorText, failedKeys, keys, probes, nextProbeAt: new Date(Date.now() + inMs) };
}

/** The name under which a message is counted: its key, or its id. */
export function keyNameOf<Tx>({ id, key, topic }: Arrived<Tx>): string {
  return key === null ? `\0${id}` : `${topic}\0${key}`;
}
