import type { Transport } from '../brokers/transport.ts';
import type { Authentication } from '../core/authentication.ts';
import { OutboxError } from '../core/errors.ts';
import { isObject, listOf, object, recordOf, type Table } from '../core/options/collections.ts';
import { defaulted, func, optional, shaped } from '../core/options/values.ts';
import { type Retention, retentionOptions } from '../core/retention.ts';
import { isTopic, type Topic } from '../core/topic.ts';
import type { OnFailed } from '../relay/on-failed.ts';
import type { OnAlert } from '../watch/on-alert.ts';
import { type AlertSettings, alertOptions } from '../watch/settings.ts';
import { type DatabaseConfig, databaseOptions } from './database-config.ts';
import { type GroupConfig, groupsOptions } from './groups-config.ts';
import { readConfig } from './read-config.ts';
import { type RelaySettings, relayOptions } from './relay-settings.ts';
import { type TemporalConfig, temporalSettings } from './temporal-config.ts';

/**
 * Addresses, topics and transports. Every process sets what it uses: a consumer needs no `database`, because it uses the
 * transactions of its own client.
 */
export interface Config {
  /** The database that messages are stored in and delivered from. Relays and operations need it. */
  readonly database?: DatabaseConfig;
  /** The server that supervises delivery. @defaultValue `localhost:7233`, without TLS, namespace `default` */
  readonly temporal?: TemporalConfig;
  /** Every topic that this relay delivers or this consumer handles; at least one. */
  readonly topics: readonly Topic[];
  /** Transports, by the name that topics use. */
  readonly transports: Readonly<Record<string, Transport>>;
  /** Durations and limits of the relay. @defaultValue see {@link RelaySettings} */
  readonly relay?: RelaySettings;
  /** How long finished messages and what belongs to them are kept. @defaultValue see {@link Retention} */
  readonly retention?: Retention;
  /** Called by the relay for each message that has failed for good, see {@link OnFailed}. @defaultValue nothing */
  readonly onFailed?: OnFailed;
  /** Called by the relay for each alert, see {@link OnAlert}. @defaultValue nothing */
  readonly onAlert?: OnAlert;
  /**
   * Alerts about figures that are beyond thresholds, and where relays send them, see {@link AlertSettings}.
   * @defaultValue nothing is watched, unless `onAlert` is set
   */
  readonly alerts?: AlertSettings;
  /** The HTTP API that `temporal-outbox api` serves. @defaultValue it is not served */
  readonly api?: ApiSettings;
  /**
   * Consumer groups whose inbox is in another database, by name: the operation `show` reads there what became of a message.
   * @defaultValue only groups of `database` are shown
   */
  readonly groups?: Readonly<Record<string, GroupConfig>>;
}

/** Settings of the HTTP API. */
export interface ApiSettings {
  /** Proves who makes a request. */
  readonly authentication: Authentication;
}

/** A configuration with everything that a relay needs. */
export interface RelayConfig extends Config {
  /** The database that messages are stored in and delivered from. */
  readonly database: DatabaseConfig;
}

const transportShape = shaped(
  'a transport',
  (given): given is Transport =>
    isObject(given) && 'publish' in given && 'probe' in given && 'close' in given,
);

const authenticationShape = shaped(
  'what proves who makes a request',
  (given): given is Authentication => isObject(given) && typeof Reflect.get(given, 'caller') === 'function',
);

const configTable = {
  database: optional(databaseOptions),
  temporal: optional(temporalSettings),
  topics: listOf(shaped('a topic made by topic()', isTopic), 'a list of at least one topic', { least: 1 }),
  transports: recordOf(transportShape, 'an object of transports by name'),
  relay: defaulted(relayOptions),
  retention: defaulted(retentionOptions),
  onFailed: optional(func<OnFailed>()),
  onAlert: optional(func<OnAlert>()),
  alerts: optional(alertOptions),
  api: optional(object({ authentication: authenticationShape } satisfies Table<ApiSettings>)),
  groups: optional(groupsOptions),
} satisfies Table<Config>;

/** Names of all settings of a configuration. */
export const configNames: readonly string[] = Object.keys(configTable);

/**
 * The configuration of a process that needs the outbox database.
 *
 * @param who what needs it, for the error
 * @throws OutboxError `OUTBOX_CONFIG_MISSING`
 */
export function requireDatabase(config: Config, who: string): RelayConfig {
  const { database } = config;
  if (database !== undefined) return { ...config, database };
  throw new OutboxError('OUTBOX_CONFIG_MISSING', `${who} needs a database, but the configuration has none.`, {
    details: { setting: 'database' },
  });
}

/**
 * Checks a configuration and returns it. Unknown keys are refused, because a misspelt setting would have no effect.
 * Settings that are functions, such as `env('NAME')`, are not called here but when they are needed.
 *
 * @throws OutboxError `OUTBOX_CONFIG_INVALID` naming every wrong setting, `OUTBOX_TRANSPORT_UNKNOWN`
 */
export function defineConfig(config: RelayConfig): RelayConfig;
/** The same for a process that needs no database, such as a consumer. */
export function defineConfig(config: Config): Config;
export function defineConfig(config: Config): Config {
  readConfig(object(configTable), config);
  const names = config.topics.map((topic) => topic.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new OutboxError('OUTBOX_CONFIG_INVALID', `The topic "${twice}" is defined twice.`, {
      details: { topic: twice },
    });
  for (const topic of config.topics) transportOf(config, topic);
  return config;
}

/** The transport of a topic: the named one, else the only one, else `kafka`. */
export function transportOf(
  config: Pick<Config, 'transports'>,
  topic: Topic,
): { readonly name: string; readonly transport: Transport } {
  const names = Object.keys(config.transports);
  const name = topic.rules.transport ?? (names.length === 1 ? names[0] : 'kafka') ?? 'kafka';
  const transport = config.transports[name];
  if (transport !== undefined) return { name, transport };
  throw new OutboxError(
    'OUTBOX_TRANSPORT_UNKNOWN',
    `The topic "${topic.name}" uses the transport "${name}", which the configuration does not define.`,
    {
      details: { topic: topic.name, transport: name, known: names },
    },
  );
}
