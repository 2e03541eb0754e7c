import type { Figures } from '../../../../src/store/figures/figures.ts';
import { quietGroup } from '../../../support/fixtures/quiet-figures.ts';

/** Something that an alert must tell of an incident. */
export interface ToTell {
  readonly rule: string;
  readonly subject: string;
  /** What the text must say of the cause. */
  readonly because: RegExp;
  /** Seconds after the begin of the incident: since when the fact lasts, from when on it is beyond its threshold, and when it is over. */
  readonly since: number;
  readonly beyond: number;
  readonly over: number;
}

/** What shows an incident: a rule of Prometheus, which has a test of its own, or what a test file proves. */
export type Sign = { readonly prometheus: string } | { readonly test: string };

/** An incident of which no rule of figures tells. */
export interface Untold {
  /** Why not, and what is seen instead. */
  readonly why: string;
  readonly signs: readonly Sign[];
  /** Nothing is wrong that somebody has to know at once: without a sign, nobody misses one. */
  readonly harmless: boolean;
}

/** An incident that an operator has lived through. */
export interface Incident {
  readonly name: string;
  /** When it begins, as `13:05:17`. */
  readonly at: string;
  /** For so many seconds figures show it, or nobody can read them. */
  readonly seconds: number;
  /** Nobody reads figures meanwhile: PostgreSQL is away, or no relay runs. */
  readonly blind?: boolean;
  /** What is read so many seconds after its begin, beside what is read of a healthy installation. */
  readonly figures: (second: number) => Partial<Figures>;
  readonly tells: readonly ToTell[];
  readonly untold?: Untold;
}

/** What is read while nothing is wrong. */
export const healthy: Partial<Figures> = {
  due: ['orders', 'reminder', 'report'].map((topic) => ({
    topic,
    announced: true,
    oldestDueMs: 40,
    reason: null,
  })),
  tries: { published: 1_200, failed: 0 },
  lags: ['orders', 'reminder', 'report'].map((topic) => ({ group: 'billing', topic, messages: 2 })),
  attended: [{ group: 'billing', consumers: 2, seenMs: 900, unread: 6 }],
  clocks: [
    { host: 'relay-a', aheadMs: 1 },
    { host: 'relay-b', aheadMs: -2 },
  ],
  relays: 2,
};

/** Of a topic whose messages have been due for so many seconds. */
export function dueFor(
  topic: string,
  seconds: number,
  reason: string | null,
  announced = true,
): Figures['due'] {
  return seconds < 0 ? [] : [{ topic, announced, oldestDueMs: seconds * 1_000, reason }];
}

/** Of a topic that has been on hold for so many seconds. */
export function heldFor(
  topic: string,
  seconds: number,
  scope: Figures['holds'][number]['scope'],
  reason: string,
): Figures['holds'] {
  return seconds < 0 ? [] : [{ topic, lanes: 1, heldMs: seconds * 1_000, scope, reason }];
}

/** Of a server that no relay has reached for so many seconds. Relays notice it up to 15 s late: at the next reading. */
export function awayFor(server: string, address: string, seconds: number, error: string): Figures['servers'] {
  const awayMs = Math.max(0, seconds - 15) * 1_000;
  return seconds < 0 ? [] : [{ server, address, relays: 2, answering: 0, error, lacks: null, awayMs }];
}

/** Of the group `billing`. */
export function billing(kept: Partial<Figures['groups'][number]>): Figures['groups'] {
  return [{ ...quietGroup, seenMs: 900, ...kept }];
}
