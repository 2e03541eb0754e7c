import { type Logger, type Trouble, troublesTo } from '../config/logger.ts';
import { causeIn } from '../core/cause.ts';
import { OutboxError } from '../core/errors.ts';
import { laneName } from '../core/lane.ts';
import { namedReasonOf } from '../core/reason.ts';
import type { ConsumerEvent, ConsumerReport } from '../inbox/consumer-event.ts';
import type { RelayEvent, RelayReport } from '../relay/report.ts';
import { withoutRepeats } from './trouble-repeats.ts';
import { inWords, isConsumerTrouble, isRelayTrouble, type Told } from './trouble-words.ts';

/** Events that need a person, whatever their error says. */
const forPersons: ReadonlySet<(RelayEvent | ConsumerEvent)['type']> = new Set([
  'alert-began',
  'failed',
  'messages-lost',
  'messages-unconfirmed',
  'partitions-unread',
  'promise-missing',
  'receipt-unreadable',
]);

/** Events of consumers whose error is what a handler threw. */
const fromHandlers: ReadonlySet<(RelayEvent | ConsumerEvent)['type']> = new Set(['attempt-failed', 'failed']);

/**
 * Logs the troubles among the events of a relay.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID` for an invalid logger
 */
export function relayTroubleLines(logger?: Logger | false): RelayReport {
  const tell = withoutRepeats(troublesTo(logger));
  const isNews = [holdsOnce(), outagesOnce()];
  return (event) => {
    if (isNews.every((judge) => judge(event)) && isRelayTrouble(event))
      tell(troubleOf({ component: 'temporal-outbox relay' }, event));
  };
}

/** False of what fails because PostgreSQL is away, once that was logged: each activity of a relay would repeat it. */
function outagesOnce(): (event: RelayEvent) => boolean {
  let away = false;
  return (event) => {
    if (event.type === 'database-away' || event.type === 'database-back')
      away = event.type === 'database-away';
    return !(away && event.type === 'error' && serverAwayIn(event.error) === 'PostgreSQL');
  };
}

/** The server that is away, if that is the error. */
function serverAwayIn(error: unknown): unknown {
  const isAway = error instanceof OutboxError && error.code === 'OUTBOX_SERVER_UNAVAILABLE';
  return isAway ? error.details['server'] : undefined;
}

/** False of a hold that this process has logged already: the lane may have another owner every few seconds while it lasts. */
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
  const server = serverAwayIn(thrown);
  const next = known.next ?? adviceFor(event);
  const final = forPersons.has(type) || (thrown instanceof OutboxError && !thrown.retryable);
  return {
    level: final ? 'error' : 'warn',
    facts: {
      ...from,
      event: type,
      // Where the event has a name for the server itself, that is the one with which it ends.
      ...(server !== undefined && { server }),
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
