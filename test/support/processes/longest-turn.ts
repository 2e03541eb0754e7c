import { readFileSync } from 'node:fs';

/**
 * The longest turn of this process's event loop, in time on the processor: on a busy machine a turn lasts longer because others
 * run. Only Linux counts it by thread; elsewhere that of all threads is taken, which is more.
 */
export class LongestTurn {
  #longestMs = 0;
  #lastMs = usedMs();
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#timer = setInterval(() => this.#note(), 2);
  }

  /** Since the last call, or the beginning, in milliseconds. */
  take(): number {
    this.#note();
    const longestMs = this.#longestMs;
    this.#longestMs = 0;
    return Math.round(longestMs);
  }

  end(): void {
    clearInterval(this.#timer);
  }

  #note(): void {
    const nowMs = usedMs();
    this.#longestMs = Math.max(this.#longestMs, nowMs - this.#lastMs);
    this.#lastMs = nowMs;
  }
}

/** What the main thread has used of the processor. */
export function usedMs(): number {
  if (process.platform === 'linux') {
    const [nanoseconds = ''] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ');
    return Number(nanoseconds) / 1e6;
  }
  const { system, user } = process.cpuUsage();
  return (system + user) / 1_000;
}
