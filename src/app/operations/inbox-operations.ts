import type { Config } from '../../config/config.ts';
import { type KeptBulkOperations, keptBulkTable } from '../../operations/bulk/bulk.ts';
import { changeKept, type KeptTarget } from '../../operations/change.ts';
import { functionsOf, type Ground } from '../../operations/declared.ts';
import { type Edited, editKeptMessage } from '../../operations/edit.ts';
import type { CheckPayload, EditOptions } from '../../operations/edit-content.ts';
import { type RewindAnswer, type RewindOptions, rewindGroup } from '../../operations/inbox/rewind.ts';
import { type KeptDetails, type NotKept, showKept } from '../../operations/inbox/show.ts';
import { type KeptList, type ListPageOptions, listKeptMessages } from '../../operations/list.ts';
import type { OnDatabase, OperationOptions } from '../../operations/operation-options.ts';
import {
  discardKept,
  expungeKept,
  type KeptAnswer,
  type KeptRetried,
  retryKept,
} from '../../store/inbox/change.ts';
import type { KeptName } from '../../store/inbox/edit.ts';
import type { KeptListFilter } from '../../store/inbox/list.ts';
import type { Expunged } from '../../store/message/expunge.ts';
import { rewindableOf } from './broker-views.ts';

/**
 * What an operator may do with messages that consumers keep in this database: parked ones, which are tried again, and
 * failed ones. Every write is recorded in the audit, in the same transaction; with `dryRun` nothing is written.
 *
 * There is one answer per message, in the order of the ids: what was done, `too-late` (its state does not allow it, or it
 * was handled), `behind-key` (an earlier message of its key must go first), `unknown`, `expired` (a retry would drop it), or `busy` (a
 * handler or another operator has it in hand: nothing was done).
 */
export interface InboxOperations {
  /** Kept messages, latest first. */
  list(filter?: KeptListFilter, page?: ListPageOptions): Promise<KeptList>;
  /** Everything about one message, and why it is kept; or whether the group has handled it. */
  show(name: KeptName): Promise<KeptDetails | NotKept>;
  /** Retries failed messages, in their old position, and parked ones at once; not those that have expired. */
  retry(target: KeptTarget, options: OperationOptions): Promise<readonly KeptAnswer<KeptRetried>[]>;
  /**
   * Replaces a failed message, or the first of a parked key, by a corrected copy with a new id, in its place. The copy does not expire.
   */
  edit(name: KeptName, options: EditOptions): Promise<Edited>;
  /** Ends failed and parked messages for good; later messages of their keys go on. */
  discard(target: KeptTarget, options: OperationOptions): Promise<readonly KeptAnswer<'discarded'>[]>;
  /** Removes body, headers and error of superseded and discarded messages, and cannot be undone; `not-ended`: it is parked or failed. */
  expunge(target: KeptTarget, options: OperationOptions): Promise<readonly KeptAnswer<Expunged>[]>;
  /**
   * Sets a group back at the brokers of the configuration, so that they deliver again what they stored since a time; the inbox drops what
   * it has handled. Never forward, and only while no consumer of the group runs: else it rejects with `OUTBOX_GROUP_IN_USE`. For groups
   * whose database was restored, or has lost commits in a failover.
   */
  rewind(group: string, options: RewindOptions): Promise<RewindAnswer>;
  /** Changes to all messages of a group that match a filter, made by its consumers at a limited rate. */
  readonly bulk: KeptBulkOperations;
}

/** @param on runs something on the migrated database */
export function inboxOperations(
  on: OnDatabase,
  ground: Omit<Ground, 'database'>,
  check: CheckPayload,
  { topics = [], transports = {} }: Partial<Pick<Config, 'topics' | 'transports'>>,
): InboxOperations {
  return {
    list: (filter, page) => on((at) => listKeptMessages(at, filter, page), ['list', page]),
    show: (name) => on((at) => showKept(at, name), ['a kept target', name]),
    retry: (target, options) =>
      on((at) => changeKept(at, target, retryKept, options), ['a kept target', target], ['retry', options]),
    edit: (name, options) => on((at) => editKeptMessage(at, name, options, check), ['a kept target', name]),
    discard: (target, options) =>
      on(
        (at) => changeKept(at, target, discardKept, options),
        ['a kept target', target],
        ['discard', options],
      ),
    expunge: (target, options) =>
      on(
        (at) => changeKept(at, target, expungeKept, options),
        ['a kept target', target],
        ['expunge', options],
      ),
    rewind: (group, options) =>
      on(
        (at) => rewindGroup(at, rewindableOf({ topics, transports }, options.topics), group, options),
        ['rewind', options],
      ),
    bulk: functionsOf<KeptBulkOperations>(on, 'inbox.bulk', keptBulkTable, ground),
  };
}
