import { type Logger, type Trouble, troublesTo } from '../config/logger.ts';
import { causeIn } from '../core/cause.ts';
import { OutboxError } from '../core/errors.ts';
import { laneName } from '../core/lane.ts';
import { namedReasonOf } from '../core/reason.ts';
import { remember } from '../core/remember.ts';
import type { ConsumerEvent, ConsumerReport } from '../inbox/consumer-event.ts';
import type { RelayEvent, RelayReport } from '../relay/report.ts';
import { inWords, isConsumerTrouble, isRelayTrouble, type Told } from './trouble-words.ts';

/** The same trouble is logged again after this time, with the number of occurrences in between. */
const againMs = 5_000;
/** Kinds of trouble that are remembered; texts may differ from message to message. */
const maxKinds = 1_000;
/** At most this many kinds per {@link againMs} of an event that is no change of state: each message may fail with a text of its own. */
const maxKindsOfOne = 20;

/** Events that need a person, whatever their error says. */
const forPersons: ReadonlySet<(RelayEvent | ConsumerEvent)['type']> = new Set([
  'alert-began',
  'failed',
  'group-stalled',
  'messages-lost',
  'messages-unconfirmed',
  'partitions-unread',
  'promise-missing',
  'receipt-unreadable',
]);

/** Events of consumers whose error is what a handler threw. */
const fromHandlers: ReadonlySet<(RelayEvent | ConsumerEvent)['type']> = new Set(['attempt-failed', 'failed']);

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

/**
 * Logs the troubles among the events of a relay.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID` for an invalid logger
 */
export function relayTroubleLines(logger?: Logger | false): RelayReport {
  const tell = withoutRepeats(troublesTo(logger));
  const isNews = holdsOnce();
  return (event) => {
    if (isNews(event) && isRelayTrouble(event))
      tell(troubleOf({ component: 'temporal-outbox relay' }, event));
  };
}

/** False of a hold that this process has told already: the lane may have another owner every few seconds while it lasts. */
function holdsOnce(): (event: RelayEvent) => boolean {
  const told = new Set<string>();
  return (event) => {
    if (event.type === 'hold-ended' && event.over) told.delete(laneName(event));
    if (event.type !== 'hold-began') return true;
    const lane = laneName(event);
    if (event.continued && told.has(lane)) return false;
    told.add(lane);
    return true;
  };
}

/**
 * Logs the troubles among the events of a consumer; `undefined` if the logger is false.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID` for an invalid logger
 */
export function consumerTroubleLines(group: string, logger?: Logger | false): ConsumerReport | undefined {
  if (logger === false) return undefined;
  const tell = withoutRepeats(troublesTo(logger));
  return (event) => {
    if (isConsumerTrouble(event)) tell(troubleOf({ component: 'temporal-outbox consumer', group }, event));
  };
}

function troubleOf(from: Readonly<Record<string, string>>, event: Told): Trouble {
  const { type, ...fields } = event;
  const { error: thrown, ...others } = { error: undefined, ...fields };
  const error = thrown === undefined ? undefined : errorInWords(thrown);
  const known = thrown instanceof OutboxError ? { code: thrown.code, next: thrown.next } : {};
  const next = known.next ?? adviceFor(event);
  const final = forPersons.has(type) || (thrown instanceof OutboxError && !thrown.retryable);
  return {
    level: final ? 'error' : 'warn',
    facts: {
      ...from,
      event: type,
      ...others,
      ...(error !== undefined && { error }),
      ...(fromHandlers.has(type) && ownFrames(thrown)),
      ...known,
      ...(next !== undefined && { next }),
    },
    message: [inWords(event), error].filter((part) => part !== undefined).join(': '),
  };
}

/** Maximum number of stack frames in a line. */
const maxFrames = 5;
const foreign = /^node:|[(\s]node:|[/\\]node_modules[/\\]/;

/** Where the user's code threw: several handlers may throw the same text. Frames of packages and of Node do not show that. */
function ownFrames(thrown: unknown): { readonly stack?: readonly string[] } {
  if (!(thrown instanceof Error) || thrown instanceof OutboxError || typeof thrown.stack !== 'string')
    return {};
  const frames = thrown.stack.split('\n').flatMap((line) => {
    const frame = /^ {4}at (.+)$/.exec(line)?.[1];
    return frame === undefined || foreign.test(frame) ? [] : [frame];
  });
  return frames.length === 0 ? {} : { stack: frames.slice(0, maxFrames) };
}

/** What to do about troubles without an error that has a `next`. */
function adviceFor(event: Told): string | undefined {
  if (event.type === 'failed' && 'transport' in event)
    return `temporal-outbox show ${event.id}, then retry, edit or discard it; list --state failed shows all.`;
  return event.type === 'pool-small'
    ? `Give the consumer a client of its own, with new PrismaPg({ connectionString, max: ${event.needed} }), or lower its concurrency, keyConcurrency or parkedConcurrency.`
    : undefined;
}

function errorInWords(error: unknown): string {
  return causeIn(namedReasonOf(error));
}

/** Events that say that something has changed its state: a line for each, however many change theirs just then. */
const changes: ReadonlySet<unknown> = new Set<(RelayEvent | ConsumerEvent)['type']>([
  'alert-began',
  'connection-resumed',
  'group-stalled',
  'hold-began',
  'lane-lost',
  'topic-waiting',
  'waiting-for-server',
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

/** What troubles have in common that count as the same: they differ in numbers, ids and positions, but in no name. */
function kindOf({ facts }: Trouble): string {
  const named = changesOfLanes.has(facts['event']) ? [facts['lane']] : [];
  const others: unknown[] = [];
  for (const fact of Object.entries(facts)) {
    if (names.has(fact[0])) named.push(fact);
    else if (!passing.has(fact[0])) others.push(fact);
  }
  return JSON.stringify(named) + JSON.stringify(others).replaceAll(passingParts, '#');
}

/** Logs troubles of the same kind once per {@link againMs}. */
function withoutRepeats(tell: ((trouble: Trouble) => void) | undefined): (trouble: Trouble) => void {
  if (tell === undefined) return () => undefined;
  const told = new Map<string, { at: number; more: number }>();
  const periods = new Map<unknown, { since: number; kinds: number; more: number }>();
  return (trouble) => {
    const kind = kindOf(trouble);
    const before = told.get(kind);
    const now = performance.now();
    if (before !== undefined && now - before.at < againMs) {
      before.more += 1;
      return;
    }
    const { event } = trouble.facts;
    const open = periods.get(event);
    const fresh = open === undefined || now - open.since >= againMs;
    const period = fresh ? { since: now, kinds: 0, more: open?.more ?? 0 } : open;
    periods.set(event, period);
    if (period.kinds === maxKindsOfOne && !changes.has(event)) {
      period.more += 1;
      return;
    }
    period.kinds += 1;
    remember(told, kind, { at: now, more: 0 }, maxKinds);
    const more = (before?.more ?? 0) + period.more;
    period.more = 0;
    tell(more === 0 ? trouble : { ...trouble, facts: { ...trouble.facts, more } });
  };
}
