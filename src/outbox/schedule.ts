import { readCron } from '../core/cron.ts';
import type { Duration } from '../core/duration.ts';
import { OutboxError } from '../core/errors.ts';
import { optionTable, readOption } from '../core/options/option-table.ts';
import { misfit, type Reader } from '../core/options/reader.ts';
import { duration, matching, oneOf, optional, unchecked, value, where } from '../core/options/values.ts';
import { assertTopic, type Topic } from '../core/topic.ts';
import { partOf } from '../store/database/pending-writes.ts';
import { sqlOf, type Transaction } from '../store/database/transaction.ts';
import { removeSchedule, type ScheduleRule, storeSchedule } from '../store/schedule/write.ts';
import { expiryOf } from './expiry.ts';
import { prepare } from './prepare.ts';

/** A message repeats at the times of a cron line. */
export interface CronOptions {
  /**
   * Five fields: minute, hour, day of the month, month, day of the week, with `*`, lists, ranges, steps and English names such as
   * `MON`; or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly`. Not both days restricted: cron programs disagree about what
   * that means. A line that never occurs is refused.
   */
  readonly cron: string;
  /**
   * IANA name of the zone of `cron`, such as `Europe/Berlin`. A local time that a clock change skips does not occur on that day,
   * and one that it repeats occurs once or, as Temporal documents it, twice. @defaultValue `'UTC'`
   */
  readonly timeZone?: string;
}

/** A message repeats at equal distances. */
export interface EveryOptions {
  /** Whole seconds, 1 s to 365 days, counted from 1970 in UTC: `'1h'` is every full hour. */
  readonly every: Duration;
}

/** Options of a repeating message, besides its times. */
export interface RepeatedMessageOptions {
  /** The key of each message: see `send`. @defaultValue no order */
  readonly key?: string;
  /**
   * The ref of each message, to `list` it, and to cancel it while it is retrying or blocked. With `overlap: 'allow'` several may have
   * it at once, and `cancel` takes the newest. @defaultValue none
   */
  readonly ref?: string;
  /** Headers of each message, as of `send`; without the current trace. The names `schedule` and `scheduled-at` are set. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * `'allow'`: each time writes a message. `'skip'`: none while the previous message of this schedule is still to be sent; a failed
   * one does not hold it up. @defaultValue `'allow'`
   */
  readonly overlap?: 'allow' | 'skip';
  /**
   * Times that were missed, because Temporal, all relays or PostgreSQL were away, write their messages up to this late, in no
   * particular order; later ones write none. 10 s to 365 days. @defaultValue `'1h'`
   */
  readonly catchUp?: Duration;
  /**
   * Each message expires so long after the time that it stands for, as with `expires` of `send`; up to 100 years. One that is caught up
   * later than this is written, and never sent. @defaultValue it does not expire
   */
  readonly expires?: { readonly after: Duration };
}

/** Options of a repeating message: its times by a cron line, or by their distance. */
export type ScheduleOptions = RepeatedMessageOptions &
  (
    | (CronOptions & { readonly every?: never })
    | (EveryOptions & { readonly cron?: never; readonly timeZone?: never })
  );

/** `'scheduled'`: it is new, or differs from what was stored under its name. */
export type ScheduleAnswer = 'scheduled' | 'unchanged';
/** `'unknown'`: there is none of this name. */
export type UnscheduleAnswer = 'removed' | 'unknown';

const textOnly = (wanted: string, test: (text: string) => boolean): Reader<string> =>
  value(wanted, (given) => (typeof given === 'string' && test(given) ? given : undefined));

/** Reads a line as it is stored. */
const cronLine: Reader<string> = {
  wanted: 'a cron line',
  read(given, option) {
    const read = typeof given === 'string' ? readCron(given) : { fault: 'must be a text' };
    if ('fault' in read) throw misfit(option, read.fault, given);
    return read.line;
  },
};

const scheduleOptions = optionTable('schedule', {
  cron: optional(cronLine),
  timeZone: optional(textOnly("'UTC' or an IANA time zone such as 'Europe/Berlin'", isTimeZone)),
  every: optional(
    where(duration('1s', '365 days'), 'must be whole seconds', (everyMs) => everyMs % 1_000 === 0),
  ),
  overlap: oneOf(['allow', 'skip'], 'allow'),
  catchUp: duration('10s', '365 days', '1h'),
  // Checked as those of a message.
  key: unchecked,
  ref: unchecked,
  headers: unchecked,
  expires: unchecked,
});

const nameReader = matching(
  /^[A-Za-z0-9._-]{1,200}$/,
  'a text of 1 to 200 letters, digits, ".", "_" and "-"',
);

/**
 * Has a message written again and again, from the commit of the caller's transaction on; relays have Temporal follow within
 * seconds. Each is an ordinary message of the topic, with the headers `schedule`, the name, and `scheduled-at`, the time that it
 * stands for, in ISO format. Each time writes one message, however often Temporal or a relay tries it.
 *
 * The name is unique in the installation; what was scheduled under it is replaced. A service may repeat the call at each start:
 * the same content changes nothing. A pause by an operator stays. The payload is validated now, not at each time.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`, or as `send` for the payload, key, ref and headers. Nothing is written, and the
 * transaction stays usable
 * @example
 * await schedule(tx, 'daily-report', reportDue, {}, { cron: '0 6 * * *', timeZone: 'Europe/Berlin' });
 */
export function schedule<Input>(
  tx: Transaction,
  name: string,
  topic: Topic<Input, unknown>,
  payload: Input,
  options: ScheduleOptions,
): Promise<ScheduleAnswer> {
  return partOf(tx, async () => {
    assertTopic('schedule', topic);
    const rule = await ruleOf(name, topic, payload, options);
    const { changed, refusal } = await storeSchedule(sqlOf(tx), rule);
    if (refusal !== null)
      throw new OutboxError(refusal.code, refusal.message, {
        details: { ...refusal.details, topic: topic.name },
      });
    return changed ? 'scheduled' : 'unchanged';
  });
}

/**
 * Ends a repeating message: from the commit on it writes none. Messages that were written stay.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID` for an invalid name; the transaction stays usable
 */
export function unschedule(tx: Transaction, name: string): Promise<UnscheduleAnswer> {
  return partOf(tx, async () =>
    (await removeSchedule(sqlOf(tx), nameOf('unschedule', name))) ? 'removed' : 'unknown',
  );
}

async function ruleOf<Input>(
  name: string,
  topic: Topic<Input, unknown>,
  payload: Input,
  options: ScheduleOptions,
): Promise<ScheduleRule> {
  const { cron, every, timeZone, overlap, catchUp } = scheduleOptions.read(options);
  if (cron === undefined && every === undefined)
    throw scheduleOptions.invalid('cron', 'is missing, and so is "every"');
  if (cron !== undefined && every !== undefined)
    throw scheduleOptions.invalid('every', 'cannot be combined with "cron"');
  if (every !== undefined && timeZone !== undefined)
    throw scheduleOptions.invalid('timeZone', 'goes with "cron" only');
  const { key, ref, headers, expires } = options;
  const { expiresAfterMs, expiresAt } = expiryOf(expires);
  if (expiresAt !== undefined)
    throw scheduleOptions.invalid('expires', 'is { after }: each message has its own time');
  const message = await prepare(topic, payload, {
    ...(key !== undefined && { key }),
    ...(ref !== undefined && { ref }),
    ...(headers !== undefined && { headers }),
  });
  return {
    name: nameOf('schedule', name),
    topic: topic.name,
    payload: message.payload,
    key: key ?? null,
    ref: ref ?? null,
    headers: withoutTrace(message.headers, headers),
    cron: cron ?? null,
    everyMs: every ?? null,
    timeZone: timeZone ?? 'UTC',
    overlap,
    catchUpMs: catchUp,
    expiresAfterMs: expiresAfterMs === undefined ? null : Math.round(expiresAfterMs),
  };
}

/** The trace of the caller is not that of the messages, and another one at each start would look like a change. */
function withoutTrace(
  made: Readonly<Record<string, string>> = {},
  given: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(made).filter(([name]) => name in given || !['traceparent', 'tracestate'].includes(name)),
  );
}

function nameOf(owner: string, name: string): string {
  return readOption(owner, 'name', nameReader, name);
}

/** Temporal's server reads names with their case; JavaScript also accepts offsets, which the server does not. */
function isTimeZone(name: string): boolean {
  if (!/^(?:UTC|[A-Z]\w+(?:\/[A-Z][\w+-]*)+)$/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}
