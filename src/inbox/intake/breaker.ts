import type { ConsumerReport, PausedAddress } from '../consumer-event.ts';
import { type ToldFailure, toldError } from '../told-error.ts';
import type { Arrived } from './arrived.ts';

/** When an address pauses. */
export interface BreakerRules {
  /** So many different keys must have failed, and more than half of the last four times as many. */
  readonly keys: number;
  /** Between probes, at most. */
  readonly longestPauseMs: number;
}

/** Whether a message may be begun: as always, as the one that is tried, or not before so many milliseconds. */
export type Entry = 'go' | 'probe' | number;

interface Pause extends Pick<PausedAddress, 'since' | 'failedKeys' | 'keys'> {
  error: unknown;
  errorText: string;
  probes: number;
  /** By `performance.now()`. */
  nextProbeMs: number;
  probing: boolean;
}

/** What is known of an address of which something has failed lately. */
interface Health {
  /** Whether the last message of each key has failed, the latest key last. */
  readonly failedByKey: Map<string, boolean>;
  lastFailureMs: number;
  pause: Pause | undefined;
  /** Between the last two probes; it goes on growing where a pause follows soon after another. */
  pauseMs: number;
}

const firstPauseMs = 1_000;
/** Failures of this age say nothing about now. */
const memoryMs = 5 * 60_000;
/** Who waits looks again after this, so that an end of the pause is not noticed late. */
const longestWaitMs = 5_000;
/** While a probe is at work. */
const shortestWaitMs = 200;

/**
 * Tells a dependency that is away from messages that are bad: an address pauses when most of its keys fail.
 *
 * Distinct keys are counted, each by its last message whose quick tries are used up, or whose first parked try has failed.
 * So a key that fails counts once, however often it is tried, and those that succeed between them outweigh a few bad ones.
 * While an address pauses, nothing of it is parked and no try is counted. One message at a time probes, at growing
 * intervals, another one each time, so that a bad one among them cannot prolong the pause; the first success ends it.
 */
export class Breaker {
  readonly #rules: BreakerRules | undefined;
  readonly #report: ConsumerReport;
  /** Of addresses of which something has failed lately: nearly always none. */
  readonly #byAddress = new Map<string, Health>();

  /** @param rules `undefined`: it never pauses anything */
  constructor(rules: BreakerRules | undefined, report: ConsumerReport) {
    this.#rules = rules;
    this.#report = report;
  }

  /** True where successes are to be told, because something has failed lately. */
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

  /** To be called before a message is begun; who gets `probe` has to tell how it ended, or call {@link probeLeft}. */
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

  /** Between probes now; who waits elsewhere than in memory asks again as rarely. */
  intervalMs(address: string): number {
    return this.#byAddress.get(address)?.pauseMs ?? 0;
  }

  /** For how long somebody who may not begin should wait before asking again. */
  waitMs(address: string): number {
    const nextProbeMs = this.#byAddress.get(address)?.pause?.nextProbeMs ?? 0;
    const leftMs = Math.max(nextProbeMs - performance.now(), shortestWaitMs);
    // Not all at once, so that it is not always the same partition that comes first.
    return Math.min(leftMs, longestWaitMs) * (1 + Math.random() / 5);
  }

  /** The next of several messages to probe with: the first one of each key has its turn. */
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
   * @param parked of a parked message: many bad ones are tried again together, and must not outweigh what succeeded before
   * @returns true when the address pauses: then the message is neither parked nor counted
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

  /** The probe has ended without telling anything about its dependency, or as it was told already. */
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

/** What a message counts for: its key, or itself. */
export function keyNameOf<Tx>({ id, key, topic }: Arrived<Tx>): string {
  return key === null ? `\0${id}` : `${topic}\0${key}`;
}
