import type { Transport } from '../../brokers/transport.ts';
import { configNames } from '../../config/config.ts';
import { type DatabaseAddress, type DatabaseConfig, databaseOf } from '../../config/database-config.ts';
import type { GroupConfig } from '../../config/groups-config.ts';
import type { TemporalConfig } from '../../config/temporal-config.ts';
import { OutboxError } from '../../core/errors.ts';
import { assertOptions } from '../../core/options/option-table.ts';
import type { Topic } from '../../core/topic.ts';
import { type AlertOperations, alertTable } from '../../operations/alerts/alerts.ts';
import {
  type BulkOperations,
  bulkTable,
  type KeptBulkOperations,
  keptBulkTable,
} from '../../operations/bulk/bulk.ts';
import { functionsOf, type Ground } from '../../operations/declared.ts';
import { type DeliveryOperations, deliveryTable } from '../../operations/delivery/delivery.ts';
import type { CheckPayload } from '../../operations/edit-content.ts';
import { type InboxOperations, inboxTable } from '../../operations/inbox/inbox.ts';
import { type MessageOperations, messageTable } from '../../operations/messages/messages.ts';
import { type TailedMessage, type TailOptions, tail } from '../../operations/messages/tail.ts';
import type { OnDatabase } from '../../operations/operation-options.ts';
import { type ScheduleOperations, scheduleTable } from '../../operations/schedules/schedules.ts';
import { currentForm } from '../../outbox/current-form.ts';
import { prepare } from '../../outbox/prepare.ts';
import type { Sql } from '../../store/database/database.ts';
import { type OperatorDatabase, operatorDatabase } from '../../store/database/visit.ts';
import type { MessageFilter } from '../../store/message/list.ts';
import { alertRuleNames } from '../../watch/figures.ts';
import { brokerViewOf, logsOf, rewindableOf } from './broker-views.ts';
import { otherGroups } from './group-databases.ts';
import { type VerifyGround, type VerifyOperations, verifyTable } from './verify-operations.ts';

export { alertRuleNames };

/** The part of a configuration that operations need. A full one is fine. */
export interface OperationsConfig {
  /** The database of the installation. */
  readonly database: DatabaseConfig;
  /** Their schemas validate edited payloads; payloads of other topics must only be JSON within the limits. */
  readonly topics?: readonly Topic[];
  /** Used by `verify`, `changePartitions`, `inbox.rewind` and `show` with `log` to reach brokers. */
  readonly transports?: Readonly<Record<string, Transport>>;
  /** Used by `verify` to compare schedules. @defaultValue they are not compared */
  readonly temporal?: TemporalConfig;
  /**
   * Consumer groups whose inbox is in another database, by name: `show` reads there what became of a message.
   * @defaultValue only groups of `database` are shown
   */
  readonly groups?: Readonly<Record<string, GroupConfig>>;
}

/**
 * What an operator may do. Every write is recorded in the audit, in the same transaction, including refusals of single
 * messages; with `dryRun` nothing is written.
 *
 * Every call may also reject with `OUTBOX_MIGRATION_MISSING`, `OUTBOX_PRIVILEGE_MISSING`, `OUTBOX_OPTION_INVALID` and `OUTBOX_ID_INVALID`.
 *
 * No call has a time limit. If the server stops responding, the call rejects with `OUTBOX_SERVER_UNAVAILABLE` after about
 * ten seconds; whether its last statement was executed is then unknown.
 */
export interface Operations extends MessageOperations, DeliveryOperations, VerifyOperations {
  /**
   * Follows the messages that match a filter: each new one, and again when its state or number of tries has changed, in the order
   * of positions within a look. A look is one query per interval that reads a bounded number of rows; what changes more often is reported
   * once. Of ready messages that it has found the newest 500 are followed until their lane has passed them. Rejects with `OUTBOX_SERVER_UNAVAILABLE`
   * when the database is away: call it again.
   */
  tail(filter?: MessageFilter, options?: TailOptions): AsyncIterable<TailedMessage>;
  /** Changes to all messages that match a filter, made by relays at a limited rate. */
  readonly bulk: BulkOperations;
  /** The same for messages that consumers keep in this database. */
  readonly inbox: InboxOperations;
  /** Repeating messages. */
  readonly schedules: ScheduleOperations;
  /** Alerts about figures that are beyond thresholds. */
  readonly alerts: AlertOperations;
  /** Closes the connections. */
  close(): Promise<void>;
}

/**
 * Opens the operations of one installation. Connections are opened, and settings that are functions are called, when first
 * needed.
 *
 * @throws OutboxError `OUTBOX_OPTION_INVALID`
 */
export function operations(config: OperationsConfig): Operations {
  // A full configuration is fine.
  assertOptions('operations()', config, configNames);
  let opened: OperatorDatabase | undefined;
  const on: OnDatabase = async (work) => {
    opened ??= operatorDatabase(addressOf(config));
    return opened.on(work);
  };
  return { ...operationsOn(on, config), close: async () => opened?.close() };
}

/**
 * The operations without the connections.
 *
 * @param on runs something on the migrated database
 * @param seen what is read of the databases of other groups, as `on` does for its own
 */
export function operationsOn(
  on: OnDatabase,
  config: OperationsConfig,
  seen: (sql: Sql) => Sql = (sql) => sql,
): Omit<Operations, 'close'> {
  const ground = groundOf(config, seen);
  return {
    ...functionsOf<MessageOperations>(on, undefined, messageTable, ground),
    ...functionsOf<DeliveryOperations>(on, undefined, deliveryTable, ground),
    ...functionsOf<VerifyOperations, VerifyGround>(on, undefined, verifyTable, { config }),
    tail: (filter = {}, options = {}) => tail(on, filter, options),
    bulk: functionsOf<BulkOperations>(on, 'bulk', bulkTable, ground),
    inbox: {
      ...functionsOf<Omit<InboxOperations, 'bulk'>>(on, 'inbox', inboxTable, ground),
      bulk: functionsOf<KeptBulkOperations>(on, 'inbox.bulk', keptBulkTable, ground),
    },
    schedules: functionsOf<ScheduleOperations>(on, 'schedules', scheduleTable, ground),
    alerts: functionsOf<AlertOperations>(on, 'alerts', alertTable, ground),
  };
}

function groundOf(
  { groups, topics = [], transports = {} }: OperationsConfig,
  seen: (sql: Sql) => Sql,
): Omit<Ground, 'database'> {
  return {
    alertRules: alertRuleNames,
    brokerOf: brokerViewOf(transports),
    checkPayload: payloadCheck(new Map(topics.map((topic) => [topic.name, topic]))),
    groups: otherGroups(groups, seen),
    logs: () => logsOf({ topics, transports }),
    rewindable: (names) => rewindableOf({ topics, transports }, names),
  };
}

/** Checks payloads with the schemas of these topics. */
function payloadCheck(topics: ReadonlyMap<string, Topic>): CheckPayload {
  return async (name, payload, headers) => {
    const topic = topics.get(name);
    if (topic !== undefined) await prepare(topic, currentForm(topic, payload, headers), {});
  };
}

/** @throws OutboxError `OUTBOX_CONFIG_MISSING`, `OUTBOX_CONFIG_INVALID` */
export function addressOf({ database }: { readonly database?: DatabaseConfig }): DatabaseAddress {
  if (database !== undefined) return databaseOf(database);
  throw new OutboxError(
    'OUTBOX_CONFIG_MISSING',
    'Operations need a database, but the configuration has none.',
    { details: { setting: 'database' } },
  );
}
