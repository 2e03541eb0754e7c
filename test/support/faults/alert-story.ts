import { expect } from 'vitest';
import type { HookServer } from '../fixtures/alert-receivers.ts';
import type { TestPrometheus } from '../fixtures/prometheus.ts';

/** Something that goes wrong, and what must be told of it. */
export interface StoryFault {
  readonly name: string;
  /** Alerts of relays, as `rule` or `rule subject`. */
  readonly tells: readonly string[];
  /** Those that are over only with a later fault. @defaultValue none */
  readonly outlasting?: readonly string[];
  /** Alerts of Prometheus. @defaultValue none */
  readonly prometheus?: readonly string[];
  /** Makes it go wrong, and may go on doing so until everything fires. */
  readonly begin: (again: () => boolean) => Promise<void>;
  readonly end: () => Promise<void>;
}

/** A line of the story. */
interface StoryLine {
  readonly atMs: number;
  readonly what: string;
  readonly alert: string;
}

/**
 * Longer than everything that a rule waits for, also on a busy machine: relays ask their servers every five seconds, a relay counts as
 * dead after 15, and a broker that was killed has to start again.
 */
const withinMs = 90_000;

/** Faults one after the other, what was told of each, and when. */
export class AlertStory {
  readonly #hook: HookServer;
  readonly #prometheus: TestPrometheus;
  readonly #beganMs = Date.now();
  readonly #lines: StoryLine[] = [];
  readonly #expected: string[] = [];
  readonly #expectedOfPrometheus = new Set<string>();
  /** How often each alert has been expected so far. */
  readonly #times = new Map<string, number>();

  constructor(hook: HookServer, prometheus: TestPrometheus) {
    this.#hook = hook;
    this.#prometheus = prometheus;
  }

  /** Something goes wrong, is told, ends, and is told to be over. */
  async fault({ begin, end, name, outlasting = [], prometheus = [], tells }: StoryFault): Promise<void> {
    for (const alert of tells) {
      this.#times.set(alert, (this.#times.get(alert) ?? 0) + 1);
      this.#expected.push(`${alert} firing`, `${alert} over`);
    }
    for (const alert of prometheus) this.#expectedOfPrometheus.add(alert);
    this.#note(`${name}: begins`);
    let waiting = true;
    const beginning = begin(() => waiting);
    // Awaited below, where it fails the test.
    beginning.catch(() => undefined);
    try {
      await Promise.all([
        untilNone(() => this.#untold(tells, 'firing'), `${name} is told`),
        this.#fired(prometheus, `${name} fires in Prometheus`),
      ]);
      if (prometheus.length > 0) this.#note(`${name}: fires in Prometheus`, prometheus.join(', '));
    } finally {
      waiting = false;
      await beginning;
    }
    await end();
    this.#note(`${name}: has ended`);
    await this.over(without(tells, outlasting), name);
    await untilNone(
      async () => both(prometheus, await this.#prometheus.firing()),
      `${name} is over in Prometheus`,
    );
    if (prometheus.length > 0) this.#note(`${name}: is over in Prometheus`, prometheus.join(', '));
  }

  /** Waits until these alerts are told to be over. */
  async over(alerts: readonly string[], because: string): Promise<void> {
    await untilNone(() => this.#untold(alerts, 'over'), `${because} is told to be over`);
  }

  /** Every alert that should have been told, each when it began and when it was over. */
  get expected(): readonly string[] {
    return this.#expected.toSorted();
  }

  get told(): readonly string[] {
    return this.#told()
      .map(({ alert, state }) => `${alert} ${state}`)
      .toSorted();
  }

  get expectedOfPrometheus(): readonly string[] {
    return [...this.#expectedOfPrometheus].toSorted();
  }

  /** The story as a table, in the order of what happened. */
  table(): string {
    const told = this.#told().map(({ alert, at, state }) => ({
      atMs: at.getTime(),
      what: state === 'over' ? '  told: over' : '  told: fires',
      alert,
    }));
    const lines = [...this.#lines, ...told].toSorted((a, b) => a.atMs - b.atMs);
    const wide = Math.max(...lines.map(({ what }) => what.length));
    return lines
      .map(({ alert, atMs, what }) => {
        const seconds = ((atMs - this.#beganMs) / 1_000).toFixed(1).padStart(7);
        return `${seconds} s  ${what.padEnd(wide)}  ${alert}`.trimEnd();
      })
      .join('\n');
  }

  /** Not all at the same time: what is counted clears by itself. */
  async #fired(alerts: readonly string[], message: string): Promise<void> {
    const fired = new Set<string>();
    await untilNone(async () => {
      for (const alert of await this.#prometheus.firing()) fired.add(alert);
      return without(alerts, [...fired]);
    }, message);
  }

  #note(what: string, alert = ''): void {
    this.#lines.push({ atMs: Date.now(), what, alert });
  }

  #told() {
    return this.#hook.posted.flatMap(({ at, json }) =>
      json.alerts.map(({ rule, state, subject }) => ({ at, alert: `${rule} ${subject}`.trimEnd(), state })),
    );
  }

  #untold(alerts: readonly string[], state: 'firing' | 'over'): readonly string[] {
    const told = this.#told();
    return alerts.filter(
      (alert) =>
        told.filter((one) => one.alert === alert && one.state === state).length <
        (this.#times.get(alert) ?? 1),
    );
  }
}

const without = (all: readonly string[], some: readonly string[]): readonly string[] =>
  all.filter((one) => !some.includes(one));
const both = (all: readonly string[], some: readonly string[]): readonly string[] =>
  all.filter((one) => some.includes(one));

/** Waits until nothing is left. */
async function untilNone(
  left: () => readonly string[] | Promise<readonly string[]>,
  message: string,
): Promise<void> {
  await expect.poll(left, { timeout: withinMs, message }).toEqual([]);
}
