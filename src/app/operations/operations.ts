import type { Transport } from '../../brokers/transport.ts';
import { configNames } from '../../config/config.ts';
import { type DatabaseAddress, type DatabaseConfig, databaseOf } from '../../config/database-config.ts';
import type { GroupConfig } from '../../config/groups-config.ts';
import type { TemporalConfig } from '../../config/temporal-config.ts';
import { type Due, dueOf } from '../../core/due.ts';
import { longestDurationMs } from '../../core/duration.ts';
import { OutboxError } from '../../core/errors.ts';
import { assertOptions } from '../../core/options/option-table.ts';
import type { Topic } from '../../core/topic.ts';
import { type AlertOperations, alertTable } from '../../operations/alerts/alerts.ts';
import { type BulkOperations, bulkTable } from '../../operations/bulk/bulk.ts';
import { changeMessages, type Target } from '../../operations/change.ts';
import { functionsOf } from '../../operations/declared.ts';
import { type Adoption, type AdoptOptions, adopt } from '../../operations/delivery/adopt.ts';
import {
  changeLanes,
  type LanesChangeOptions,
  type TopicChangeAnswer,
} from '../../operations/delivery/lanes.ts';
import { changePartitions, type PartitionOptions } from '../../operations/delivery/partitions.ts';
import {
  type PauseAnswer,
  type PauseOptions,
  pause,
  type ResumeAnswer,
  resume,
} from '../../operations/delivery/pause.ts';
import { type Status, statusOf } from '../../operations/delivery/status.ts';
import { type Edited, editFailed } from '../../operations/edit.ts';
import type { CheckPayload, EditOptions } from '../../operations/edit-content.ts';
import { type ListPageOptions, list, type MessageList } from '../../operations/list.ts';
import { type MessageDetails, type ShowOptions, showMessage } from '../../operations/messages/show.ts';
import { type TailedMessage, type TailOptions, tail } from '../../operations/messages/tail.ts';
import { type WithdrawOptions, withdrawMessages } from '../../operations/messages/withdraw.ts';
import {
  assertNames,
  type Given,
  type OnDatabase,
  type OperationOptions,
} from '../../operations/operation-options.ts';
import { type ScheduleOperations, scheduleTable } from '../../operations/schedules/schedules.ts';
import type { VerifyReport } from '../../operations/verify/report.ts';
import { currentForm } from '../../outbox/current-form.ts';
import { prepare } from '../../outbox/prepare.ts';
import type { Sql } from '../../store/database/database.ts';
import { type OperatorDatabase, operatorDatabase } from '../../store/database/visit.ts';
import type { PauseScope } from '../../store/lane/pause.ts';
import {
  cancelChange,
  discardChange,
  type MessageAnswer,
  type MessageChange,
  retryChange,
} from '../../store/message/change.ts';
import { type Expunged, expungeChange } from '../../store/message/expunge.ts';
import type { MessageFilter } from '../../store/message/list.ts';
import { type Rescheduled, rescheduleChange } from '../../store/message/reschedule.ts';
import { alertRuleNames } from '../../watch/figures.ts';
import { brokerViewOf, logsOf } from './broker-views.ts';
import { otherGroups } from './group-databases.ts';
import { type InboxOperations, inboxOperations } from './inbox-operations.ts';
import { type VerifyOptions, verifyWith } from './verify-with.ts';

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

/** Options of a reschedule. */
export type RescheduleOptions = OperationOptions & Due;

/**
 * What an operator may do. Every write is recorded in the audit, in the same transaction, including refusals of single
 * messages; with `dryRun` nothing is written.
 *
 * There is one answer per message, in the order of the ids: what was done, `too-late` (its state no longer allows it),
 * `unknown`, or `busy` (another transaction or relay holds it: nothing was done). A ref that matches nothing has no answer.
 * Every call may also reject with `OUTBOX_MIGRATION_MISSING`, `OUTBOX_PRIVILEGE_MISSING`, `OUTBOX_OPTION_INVALID` and `OUTBOX_ID_INVALID`.
 *
 * No call has a time limit. If the server stops responding, the call rejects with `OUTBOX_SERVER_UNAVAILABLE` after about
 * ten seconds; whether its last statement was executed is then unknown.
 */
export interface Operations {
  /** State of topics, lanes and holds. */
  status(): Promise<Status>;
  /** Live messages, newest first; with a filter by id, or by topic and ref, archived ones too. */
  list(filter?: MessageFilter, page?: ListPageOptions): Promise<MessageList>;
  /**
   * Follows the messages that match a filter: each new one, and again when its state or number of tries has changed, in the order
   * of positions within a look. A look is one query per interval that reads a bounded number of rows; what changes more often is reported
   * once. Of ready messages that it has found the newest 500 are followed until their lane has passed them. Rejects with `OUTBOX_SERVER_UNAVAILABLE`
   * when the database is away: call it again.
   */
  tail(filter?: MessageFilter, options?: TailOptions): AsyncIterable<TailedMessage>;
  /**
   * Everything about one message, as one timeline with what groups of this database and of `groups` did with it, and why it has no
   * effect yet. A group's database that does not answer within three seconds is a gap. `message` is `null` if only a group
   * knows it; `undefined` if none does, of those that answer.
   */
  show(id: string, options?: ShowOptions): Promise<MessageDetails | undefined>;
  /** Cancels messages that are waiting, retrying, or blocked. */
  cancel(target: Target, options: OperationOptions): Promise<readonly MessageAnswer<'canceled'>[]>;
  /** Moves the due time of waiting messages, but not past their expiry; `after: 0` means now. */
  reschedule(target: Target, options: RescheduleOptions): Promise<readonly MessageAnswer<Rescheduled>[]>;
  /** Makes failed and retrying messages ready now. They keep their position in the order of their key. */
  retry(target: Target, options: OperationOptions): Promise<readonly MessageAnswer<'retried' | 'expired'>[]>;
  /** Replaces a failed message by a corrected copy with a new id, in its place. Rejects with `OUTBOX_CONFLICT` if another edit was faster. */
  edit(id: string, options: EditOptions): Promise<Edited>;
  /** Ends failed messages for good. */
  discard(target: Target, options: OperationOptions): Promise<readonly MessageAnswer<'discarded'>[]>;
  /**
   * Removes payload, headers and errors of ended messages, archived ones too, and cannot be undone. The rows stay, so that lists, counts
   * and `verify` are as before; a replay leaves them out. What brokers, consumers and copies have is theirs. `not-ended`: it may still be
   * sent, or be sent again while it awaits a receipt.
   */
  expunge(target: Target, options: OperationOptions): Promise<readonly MessageAnswer<Expunged>[]>;
  /** Also cancels ready messages that were certainly not published. Pauses the topic if a relay owns the lane. */
  withdraw(target: Target, options: WithdrawOptions): Promise<readonly MessageAnswer<'canceled'>[]>;
  /** Changes to all messages that match a filter, made by relays at a limited rate. */
  readonly bulk: BulkOperations;
  /** The same for messages that consumers keep in this database. */
  readonly inbox: InboxOperations;
  /** Repeating messages. */
  readonly schedules: ScheduleOperations;
  /** Alerts about figures that are beyond thresholds. */
  readonly alerts: AlertOperations;
  /** Stops the delivery of a topic, or of all topics of a transport. The answer says whether relays have stopped. */
  pause(scope: PauseScope, options: PauseOptions): Promise<PauseAnswer>;
  /** Ends the pause. */
  resume(scope: PauseScope, options: OperationOptions): Promise<ResumeAnswer>;
  /**
   * Compares committed messages with the logs of the brokers, and with effects, and schedules with Temporal's, and reports broken
   * promises. Only reads,
   * but needs temporary tables. Rejects with `OUTBOX_SERVER_UNAVAILABLE` if a broker cannot be read.
   */
  verify(options?: VerifyOptions): Promise<VerifyReport>;
  /**
   * Changes the number of lanes of a topic without blocking writers; keys keep their order. The topic is not delivered
   * until the change is done: if the answer says that it is not, repeat the call.
   */
  changeLanes(topic: string, lanes: number, options: LanesChangeOptions): Promise<TopicChangeAnswer>;
  /** Places keys by another number of partitions, once the named consumer groups have passed the existing messages. */
  changePartitions(topic: string, partitions: number, options: PartitionOptions): Promise<TopicChangeAnswer>;
  /** Lets relays deliver from a database that was restored from a dump. Locks the outbox while rewriting it. */
  adopt(options: AdoptOptions): Promise<Adoption>;
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
  const on: OnDatabase = async (work, ...given) => {
    for (const [what, names] of given) assertNames(what, names);
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
  const ground = { alertRules: alertRuleNames };
  const checkPayload = payloadCheck(new Map((config.topics ?? []).map((topic) => [topic.name, topic])));
  const change =
    <Result extends string>(of: MessageChange<Result>, what: Given) =>
    (target: Target, options: OperationOptions): Promise<readonly MessageAnswer<Result>[]> =>
      on((at) => changeMessages(at, target, of, options), ['a target', target], [what, options]);
  return {
    status: () => on(statusOf),
    list: (filter, page) => on((at) => list(at, filter, page), ['list', page]),
    tail: (filter = {}, options = {}) => tail(on, filter, options),
    show: (id, { log = false, ...rest } = {}) => {
      const { groups, topics = [], transports = {} } = config;
      const logs = log ? logsOf({ topics, transports }) : undefined;
      return on(
        (at) => showMessage(at, id, { groups: otherGroups(groups, seen), logs }),
        ['show', { log, ...rest }],
      );
    },
    cancel: change(cancelChange, 'cancel'),
    reschedule: (target, options) =>
      on(
        (at) => changeMessages(at, target, rescheduleChange(newDue(options)), options),
        ['a target', target],
        ['reschedule', options],
      ),
    retry: change(retryChange, 'retry'),
    edit: (id, options) => on((at) => editFailed(at, id, options, checkPayload)),
    discard: change(discardChange, 'discard'),
    expunge: change(expungeChange, 'expunge'),
    withdraw: (target, options) =>
      on((at) => withdrawMessages(at, target, options), ['a target', target], ['withdraw', options]),
    bulk: functionsOf<BulkOperations>(on, 'bulk', bulkTable, ground),
    inbox: inboxOperations(on, ground, checkPayload, config),
    schedules: functionsOf<ScheduleOperations>(on, 'schedules', scheduleTable, ground),
    alerts: functionsOf<AlertOperations>(on, 'alerts', alertTable, ground),
    pause: (scope, options) => on((at) => pause(at, scope, options), ['a scope', scope], ['pause', options]),
    resume: (scope, options) =>
      on((at) => resume(at, scope, options), ['a scope', scope], ['resume', options]),
    verify: (options) =>
      on(
        (at) => verifyWith(at, config, options),
        ['verify', options],
        ['verify.effects', options?.effects],
        ['verify.effects.database', options?.effects?.database],
      ),
    changeLanes: (topic, lanes, options) =>
      on((at) => changeLanes(at, topic, lanes, options), ['changeLanes', options]),
    changePartitions: (topic, partitions, options) =>
      on(
        (at) => changePartitions(at, brokerViewOf(config.transports ?? {}), topic, partitions, options),
        ['changePartitions', options],
      ),
    adopt: (options) => on((at) => adopt(at, options), ['adopt', options]),
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

function newDue(options: RescheduleOptions): { readonly afterMs: number } | { readonly at: string } {
  const { afterMs, at } = dueOf(options, longestDurationMs);
  if (at !== undefined) return { at };
  if (afterMs !== undefined) return { afterMs };
  throw new OutboxError('OUTBOX_OPTION_INVALID', 'Neither "after" nor "at" is given.', {
    details: { option: 'after' },
  });
}
