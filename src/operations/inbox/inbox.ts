import { sparse } from '../../core/options/collections.ts';
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
import type { KeptBulkOperations } from '../bulk/bulk.ts';
import { changeKept, type KeptTarget } from '../change.ts';
import type { DeclaredTable } from '../declared.ts';
import { type Edited, editDeclared, editKeptMessage } from '../edit.ts';
import { assertEditOptions, type EditOptions } from '../edit-content.ts';
import { keptListFilter, keptMessages, keptName, rewind } from '../inputs/kept.ts';
import { authored, page } from '../inputs/values.ts';
import { type KeptList, type ListPageOptions, listKeptMessages } from '../list.ts';
import { assertWays, type OperationOptions } from '../operation-options.ts';
import { type RewindAnswer, type RewindOptions, rewindGroup } from './rewind.ts';
import { type KeptDetails, type NotKept, showKept } from './show.ts';

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

const one = { of: { name: sparse(keptName) }, check: assertName } as const;
const several = {
  role: 'operator',
  of: { target: sparse(keptMessages) },
  options: authored,
  check: assertTarget,
} as const;

/** The operations on messages that consumers keep, but for those on all that match a filter. */
export const inboxTable = {
  list: {
    text: 'list kept messages, latest first',
    role: 'viewer',
    of: { filter: sparse(keptListFilter) },
    query: page,
    run: ({ database }, filter, asked) => listKeptMessages(database, filter, asked),
  },
  show: {
    text: 'show one kept message, and why it is kept',
    overHttp: 'Without body and headers. If none is kept, whether the group has handled it.',
    role: 'viewer',
    ...one,
    run: ({ database }, name) => showKept(database, name),
  },
  retry: {
    text: 'retry failed messages in their old position, and parked ones now',
    ...several,
    run: ({ database }, target, options) => changeKept(database, target, retryKept, options),
  },
  edit: {
    text: 'replace a failed message, or the first of a parked key, by a corrected copy',
    overHttp: '`If-Match`: its `version` as it was shown.',
    ...editDeclared,
    ...one,
    check(name, options) {
      assertName(name);
      assertEditOptions(options);
    },
    run: ({ checkPayload, database }, name, options) =>
      editKeptMessage(database, name, options, checkPayload),
  },
  discard: {
    text: 'end failed and parked messages for good',
    ...several,
    run: ({ database }, target, options) => changeKept(database, target, discardKept, options),
  },
  expunge: {
    text: 'remove body, headers and error of ended messages for good',
    ...several,
    role: 'admin',
    run: ({ database }, target, options) => changeKept(database, target, expungeKept, options),
  },
  rewind: {
    text: 'set a group back at its brokers, to receive again what they stored since a time',
    role: 'admin',
    of: { group: keptName.group },
    options: rewind,
    run: ({ database, rewindable }, group, options) =>
      rewindGroup(database, rewindable(options.topics), group, options),
  },
} satisfies DeclaredTable<Omit<InboxOperations, 'bulk'>>;

function assertName(name: KeptName): void {
  assertWays('a kept message', [['group', 'id']], name);
}

function assertTarget(target: KeptTarget): void {
  assertWays('kept messages', [['group', 'ids']], target);
}
