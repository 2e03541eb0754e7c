import type { Trouble } from '../config/logger.ts';
import { remember } from '../core/remember.ts';
import type { ConsumerEvent } from '../inbox/consumer-event.ts';
import type { RelayEvent } from '../relay/report.ts';

/** The same trouble is logged again after this time, with the number of occurrences in between. */
const againMs = 5_000;
/** The longest time until then of a trouble that lasts. */
const longestMs = 300_000;
/** What has not occurred for so long is over, and begins anew. */
const quietMs = 60_000;
/** Kinds of trouble that are remembered; texts may differ from message to message. */
const maxKinds = 1_000;
/** At most this many kinds per {@link againMs} of an event that is no change of state: each message may fail with a text of its own. */
const maxKindsOfOne = 20;

/** Facts that may differ between two occurrences of the same trouble. */
const passing: ReadonlySet<string> = new Set([
  'attempt',
  'id',
  'key',
  'lane',
  'offset',
  'partition',
  'retryInMs',
]);

/** Events that say that something has changed its state: a line for each, however many change theirs just then. */
const changes: ReadonlySet<unknown> = new Set<(RelayEvent | ConsumerEvent)['type']>([
  'alert-began',
  'hold-began',
  'lane-lost',
  'topic-waiting',
  'waiting-for-server',
  'workflows-failing',
]);

/** Facts that say what a trouble is about: `orders-v1` is not `orders-v2`. */
const names: ReadonlySet<string> = new Set([
  'address',
  'destination',
  'group',
  'rule',
  'server',
  'subject',
  'topic',
]);

/** Numbers, and the ids of messages. */
const passingParts = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|\d+/gi;

/** Of these the lane is a name. */
const changesOfLanes: ReadonlySet<unknown> = new Set<RelayEvent['type']>(['hold-began', 'lane-lost']);

/** Of these the text of the error differs from try to try, and what it is about is the server; its code counts. */
const outages: ReadonlySet<unknown> = new Set<(RelayEvent | ConsumerEvent)['type']>([
  'disconnected',
  'waiting-for-server',
]);

/** What troubles have in common that count as the same: they differ in numbers, ids and positions, but in no name. */
function kindOf({ facts }: Trouble): string {
  const event = facts['event'];
  // Whatever the relay was doing.
  if (event === 'error' && facts['server'] !== undefined) return JSON.stringify([event, facts['server']]);
  const named = changesOfLanes.has(event) ? [facts['lane']] : [];
  const others: unknown[] = [];
  for (const fact of Object.entries(facts)) {
    if (names.has(fact[0])) named.push(fact);
    else if (!passing.has(fact[0]) && !(fact[0] === 'error' && outages.has(event))) others.push(fact);
  }
  return JSON.stringify(named) + JSON.stringify(others).replaceAll(passingParts, '#');
}

/** Events that are reported again with each try while one thing lasts: those are logged at growing intervals. */
const lasting: ReadonlySet<unknown> = new Set<(RelayEvent | ConsumerEvent)['type']>([
  'alert-untold',
  'bulk-failing',
  'dead-letters-failing',
  'disconnected',
  'error',
  'parked-failing',
  'receipts-unsent',
  'waiting-for-server',
  'window-failing',
]);

/** Events that end what others have begun. */
const ends: ReadonlyMap<unknown, ConsumerEvent['type']> = new Map([
  ['connection-resumed', 'disconnected'],
  ['workflows-resumed', 'workflows-failing'],
]);
const begins: ReadonlySet<unknown> = new Set(ends.values());

/** A kind of trouble that was logged. */
interface Logged {
  /** When it was logged, and when it occurred last, as `performance.now()` has it. */
  readonly at: number;
  lastAt: number;
  /** From one line to the next. */
  readonly distanceMs: number;
  /** Occurrences since then. */
  more: number;
  /** What began, for its end. */
  readonly what: string;
  /** It has ended: the next one begins anew. */
  over: boolean;
}

/** What an event is about, for its end: a server, if it names one. */
function whatOf(event: unknown, facts: Trouble['facts']): string {
  return JSON.stringify([event, facts['server']]);
}

/** Notes an end in the kinds of trouble that it ends. */
function noteEnd(told: Map<string, Logged>, ended: string, reportedOnce: boolean): void {
  for (const [kind, logged] of told) {
    if (logged.what !== ended) continue;
    if (reportedOnce) told.delete(kind);
    logged.over = true;
    logged.more = 0;
  }
}

/**
 * Logs troubles of the same kind once per {@link againMs}, and what lasts at growing distance: an outage of hours needs no thousand
 * lines. The end of one that was logged is logged, too, and the next one begins anew.
 */
export function withoutRepeats(tell: ((trouble: Trouble) => void) | undefined): (trouble: Trouble) => void {
  if (tell === undefined) return () => undefined;
  const told = new Map<string, Logged>();
  /** What was logged since it last ended. */
  const open = new Set<string>();
  const periods = new Map<unknown, { since: number; kinds: number; more: number }>();
  return (trouble) => {
    const { facts } = trouble;
    const { event } = facts;
    const begun = ends.get(event);
    if (begun !== undefined) {
      const ended = whatOf(begun, facts);
      // What is reported with each try is logged soon enough, however often it comes and goes.
      noteEnd(told, ended, !lasting.has(begun));
      if (open.delete(ended)) tell(trouble);
      return;
    }
    const kind = kindOf(trouble);
    const before = told.get(kind);
    const now = performance.now();
    const lasts = before !== undefined && !before.over && now - before.lastAt < quietMs;
    if (before !== undefined && now - before.at < (lasts ? before.distanceMs : againMs)) {
      before.more += 1;
      before.lastAt = now;
      return;
    }
    const last = periods.get(event);
    const fresh = last === undefined || now - last.since >= againMs;
    const period = fresh ? { since: now, kinds: 0, more: last?.more ?? 0 } : last;
    periods.set(event, period);
    if (period.kinds === maxKindsOfOne && !changes.has(event)) {
      period.more += 1;
      return;
    }
    period.kinds += 1;
    const distanceMs = lasts && lasting.has(event) ? Math.min(2 * before.distanceMs, longestMs) : againMs;
    const what = whatOf(event, facts);
    if (begins.has(event)) open.add(what);
    remember(told, kind, { at: now, lastAt: now, distanceMs, more: 0, what, over: false }, maxKinds);
    const more = (before?.more ?? 0) + period.more;
    period.more = 0;
    tell(more === 0 ? trouble : { ...trouble, facts: { ...facts, more } });
  };
}
