import { type WebhookSecret, type Webhooks, webhooks } from '../brokers/http/client/signatures.ts';
import type { Duration } from '../core/duration.ts';
import { listOf, object, type ReadTable, type Table } from '../core/options/collections.ts';
import { type Lazy, lazy } from '../core/options/lazy.ts';
import { misfit, type Reader } from '../core/options/reader.ts';
import { defaulted, duration, either, optional, text, value, whole } from '../core/options/values.ts';
import { secret, secretIn } from '../core/secrets.ts';
import type { AlertRule } from './figure.ts';
import { type AlertRuleName, type AlertThresholds, alertRuleNames, alertRules } from './figures.ts';

/** A URL that gets alerts by POST. */
export interface AlertWebhook {
  /**
   * Where to post JSON with a `text` for people, as incoming webhooks of Slack and Mattermost take it, and with `alerts`, the same
   * for programs. `https:` or `http:`, without user and password; a function, such as `env('ALERTS_URL')`, is called for every message.
   */
  readonly url: Lazy<string>;
  /** Signs every message according to Standard Webhooks, as the transport `http` does. @defaultValue not signed */
  readonly secret?: Lazy<WebhookSecret>;
}

/** Who gets alerts by e-mail. */
export interface AlertEmail {
  /**
   * The mail server: `smtps://user:password@mail.example:465`, or `smtp://`, which uses STARTTLS where the server offers it. A
   * function, such as `env('SMTP_URL')`, is called for every message.
   */
  readonly server: Lazy<string>;
  /** Address of the sender. */
  readonly from: string;
  /** Addresses of those who get it, 1 to 20. */
  readonly to: readonly string[];
}

/** Where alerts are sent. */
export interface AlertDestinations {
  /** A URL that gets them by POST. @defaultValue none */
  readonly webhook?: AlertWebhook;
  /** Mail to people; needs the package nodemailer. @defaultValue none */
  readonly email?: AlertEmail;
}

/**
 * Alerts, and where relays send them. An alert is sent once, by one of all relays, when a figure is beyond its threshold, again after `again`,
 * and when it is over. `false` turns a rule off.
 */
export interface AlertSettings {
  /** Age of the oldest message of a topic that is due and not published. @defaultValue `'1m'` */
  readonly oldestDue?: Duration | false;
  /** Age of the oldest due message of a topic that no relay delivers. @defaultValue `'1m'` */
  readonly unannounced?: Duration | false;
  /** Share of the tries to publish in the last five minutes, of at least 20, that succeeded, 0 to 1. @defaultValue 0.99 */
  readonly successRate?: number | false;
  /** How late a delayed message, or the next try of one, is released. @defaultValue `'1m'` */
  readonly lateness?: Duration | false;
  /** Messages of a topic, or kept by a group, that have failed for good. @defaultValue 0: the first one fires */
  readonly failed?: number | false;
  /** How long a topic has waited for its broker or address. @defaultValue `'1m'` */
  readonly hold?: Duration | false;
  /** How long the receipt of a published message has been overdue. @defaultValue `'10m'` */
  readonly receipts?: Duration | false;
  /** How long a message has been parked by a group whose inbox is in this database. @defaultValue `'15m'` */
  readonly parked?: Duration | false;
  /** Messages of a topic that a group has not read, where the broker knows that. @defaultValue 10,000 */
  readonly lag?: number | false;
  /** How long no consumer of a group has run while messages wait for it. @defaultValue `'5m'` */
  readonly noConsumer?: Duration | false;
  /** How long the breaker of a consumer has paused an address, because most of its keys fail. @defaultValue `'2m'` */
  readonly pausedAddress?: Duration | false;
  /** How long a group has stood at one message of a partition while others wait. @defaultValue `'15m'` */
  readonly stalledGroup?: Duration | false;
  /** Workflows that the last comparison with Temporal had to start or end. @defaultValue 10 */
  readonly drift?: number | false;
  /** How long finished messages have been due to move to the history. @defaultValue `'1 day'` */
  readonly archive?: Duration | false;
  /** Difference between the clocks of a relay's host and of the database. @defaultValue `'2s'` */
  readonly clock?: Duration | false;
  /** How long PostgreSQL, Temporal or a broker has not answered some relay. @defaultValue `'1m'` */
  readonly serverAway?: Duration | false;
  /**
   * How long the certificates that the configuration loads for PostgreSQL, Temporal and brokers are still valid: those that relays show,
   * and those of authorities. @defaultValue `'14 days'`
   */
  readonly certificate?: Duration | false;
  /**
   * Consumer groups whose progress is watched beside those of this database and those from which topics expect receipts, by name: groups
   * that keep their processed ids elsewhere, or are written in another language. Where the broker knows how far a group is. @defaultValue none
   */
  readonly groups?: readonly string[];
  /** Where alerts are sent. @defaultValue nowhere: `temporal-outbox alerts` lists them */
  readonly to?: AlertDestinations;
  /** An alert that goes on is sent again after this time, 1 minute or more. @defaultValue `'4h'` */
  readonly again?: Duration;
  /** Between readings of the figures, by one relay for all, 100 ms to 10 minutes. @defaultValue `'15s'` */
  readonly interval?: Duration;
}

/** A URL, never repeated in an error: that of a webhook is a secret, and that of a mail server has a password. */
function urlOf(schemes: readonly string[], user: 'with-user' | 'without-user'): Reader<string> {
  const begins = `a URL that begins with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`;
  const wanted = user === 'with-user' ? begins : `${begins}, without user and password`;
  return {
    wanted,
    read(given, option) {
      const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : undefined;
      if (url === undefined || url.hostname === '' || !schemes.includes(url.protocol.slice(0, -1)))
        throw misfit(option, `must be ${wanted}`);
      // `fetch` refuses such a URL, and repeats it.
      if (user === 'without-user' && (url.username !== '' || url.password !== ''))
        throw misfit(option, `must be ${wanted}`);
      if (user === 'with-user') secretIn(url);
      else secret(url.href);
      return url.href;
    },
  };
}

const webhookOptions = object({
  url: lazy(urlOf(['https', 'http'], 'without-user')),
  secret: optional(lazy<Webhooks>(webhooks)),
} satisfies Table<AlertWebhook>);

const emailOptions = object({
  server: lazy(urlOf(['smtps', 'smtp'], 'with-user')),
  from: text(),
  to: listOf(text(), 'a list of 1 to 20 addresses', { least: 1, most: 20 }),
} satisfies Table<AlertEmail>);

const destinationOptions = object({
  webhook: optional(webhookOptions),
  email: optional(emailOptions),
} satisfies Table<AlertDestinations>);

const off = [false] as const;

const share: Reader<number> = value('a number from 0 to 1', (given) =>
  typeof given === 'number' && given >= 0 && given <= 1 ? given : undefined,
);

/** A threshold in the unit of its rule; not given: its default. */
function threshold({ threshold: normal, unit }: AlertRule): Reader<number | false> {
  if (unit === 'time') return either(off, duration(0, undefined, normal));
  if (unit !== 'share') return either(off, whole(0, undefined, normal));
  const given = either(off, share);
  return { wanted: given.wanted, read: (set, option) => given.read(set ?? normal, option) };
}

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a reader for each of the names
const thresholds = Object.fromEntries(
  alertRuleNames.map((name) => [name, threshold(alertRules[name])]),
) as Readonly<Record<AlertRuleName, Reader<number | false>>>;

/** The setting `alerts`. */
export const alertOptions = object({
  ...thresholds,
  groups: optional(listOf(text(), 'a list of names of consumer groups')),
  to: defaulted(destinationOptions),
  again: duration('1 min', undefined, '4h'),
  interval: duration('100ms', '10 min', '15s'),
} satisfies Table<AlertSettings>);

/** The settings with every default filled in. */
export type SettledAlerts = ReturnType<typeof alertOptions.read>;
/** What the settings say about destinations. */
export type SettledDestinations = ReadTable<{ to: typeof destinationOptions }>['to'];

/** The thresholds among the settings. */
export function thresholdsOf(settings: SettledAlerts): AlertThresholds {
  const { again: _again, groups: _groups, interval: _interval, to: _to, ...given } = settings;
  return given;
}
