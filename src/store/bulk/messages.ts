import { type Author, changeLocked, type Round } from '../audit/audit.ts';
import type { Sql } from '../database/database.ts';
import { keptChange } from '../inbox/change.ts';
import { outboxChange } from '../message/change.ts';
import type { BulkScope, BulkStanding, ReplayTarget } from './bulk.ts';
import { changeOf, keptChanges } from './changes.ts';
import { walkOfKept } from './kept-selection.ts';
import type { PageAnswer } from './page-answer.ts';
import { replayMessages } from './replay.ts';
import { walkOfReplay } from './replay-selection.ts';
import { walkOf } from './selection.ts';
import type { Walk } from './walk.ts';

/** The messages of a bulk operation: those of the outbox, or those that a consumer group keeps. */
export interface BulkMessages {
  readonly walk: Walk<unknown>;
  /** Changes messages, with audit entries. */
  change(sql: Sql, ids: readonly string[], author: Author, last: boolean): Promise<Round<PageAnswer>>;
}

export function messagesOf(
  bulk: BulkScope & Pick<BulkStanding, 'action' | 'arguments'> & { readonly selectedUntil: string },
): BulkMessages {
  const { selectedUntil } = bulk;
  if (bulk.group === null) {
    const { filter } = bulk;
    const { action } = bulk;
    if (action === 'replay') {
      // A stored replay always has its topic.
      const { ids: named, to } = bulk.arguments as ReplayTarget;
      return {
        walk: walkOfReplay({ filter, selectedUntil }, named),
        change: (sql, ids, author) => replayMessages(sql, { filter, ids, to, author }),
      };
    }
    const change = outboxChange(changeOf({ action, arguments: bulk.arguments }, filter));
    return {
      walk: walkOf({ filter, selectedUntil }),
      change: (sql, ids, author, last) => changeLocked(sql, ids, change, author, last),
    };
  }
  const { group, filter, action } = bulk;
  if (action !== 'retry' && action !== 'discard') throw new Error(`Kept messages know no ${action}.`);
  const change = keptChange<string>(group, keptChanges[action], filter);
  return {
    walk: walkOfKept({ filter, selectedUntil }),
    change: (sql, ids, author, last) => changeLocked(sql, ids, change, author, last),
  };
}
