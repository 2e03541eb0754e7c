import type { Author } from '../audit/audit.ts';
import type { Sql } from '../database/database.ts';
import { changeLockedKept } from '../inbox/change.ts';
import { changeLocked } from '../message/change-messages.ts';
import type { BulkScope, BulkStanding } from './bulk.ts';
import { changeOf, keptChanges } from './changes.ts';
import { walkOfKept } from './kept-selection.ts';
import { walkOf } from './selection.ts';
import type { Walk } from './walk.ts';

/** The result of one message of a page. */
export interface PageAnswer {
  readonly id: string;
  readonly result: string;
  /** Set, like the lane, for a message of the outbox, whose lane may have work now. */
  readonly topic: string | null;
  readonly lane: number | null;
}

/** What one page did. */
export interface ChangedPage {
  readonly answers: readonly PageAnswer[];
  /** Locked by others; neither answered nor audited, unless this was the last try. */
  readonly busy: readonly string[];
}

/** The messages of a bulk operation: those of the outbox, or those that a consumer group keeps. */
export interface BulkMessages {
  readonly walk: Walk<unknown>;
  /** Changes messages, with audit entries; `undefined` if that takes more than one transaction. */
  readonly change:
    | ((sql: Sql, ids: readonly string[], author: Author, last: boolean) => Promise<ChangedPage>)
    | undefined;
}

export function messagesOf(
  bulk: BulkScope & Pick<BulkStanding, 'action' | 'arguments'> & { readonly selectedUntil: string },
): BulkMessages {
  const { selectedUntil } = bulk;
  if (bulk.group === null) {
    const { filter } = bulk;
    const change = changeOf(bulk, filter);
    return {
      walk: walkOf({ filter, selectedUntil }),
      change: change && ((sql, ids, author, last) => changeLocked(sql, ids, change, author, last)),
    };
  }
  const { group, filter, action } = bulk;
  return {
    walk: walkOfKept({ filter, selectedUntil }),
    async change(sql, ids, author, last) {
      if (action !== 'retry' && action !== 'discard') throw new Error(`Kept messages know no ${action}.`);
      const asked = { group, ids, change: keptChanges[action], condition: filter };
      const { answers, busy } = await changeLockedKept(sql, asked, author, last);
      return { answers: answers.map(({ id, result, topic }) => ({ id, result, topic, lane: null })), busy };
    },
  };
}
