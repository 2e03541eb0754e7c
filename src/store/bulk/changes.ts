import type { KeptState } from '../../core/parked-states.ts';
import { openKeptStates } from '../../core/parked-states.ts';
import type { State } from '../../core/transitions.ts';
import { discardKept, type KeptChange, retryKept } from '../inbox/change.ts';
import { cancelChange, discardChange, type MessageChange, retryChange } from '../message/change.ts';
import { type NewDue, rescheduleChange } from '../message/reschedule.ts';
import type { BulkAction, BulkStanding, KeptAction } from './bulk.ts';
import { type BulkFilter, stillMatching } from './selection.ts';

/** The states that a replay without states sends again. */
export const deliveredStates: readonly State[] = ['published', 'confirmed'];

/** The states that an action applies to. A selection has no others, so that published messages are not refused one by one. */
export const actionableStates: Readonly<Record<BulkAction, readonly State[]>> = {
  cancel: ['waiting', 'blocked', 'retrying'],
  discard: ['failed'],
  replay: [...deliveredStates, 'failed', 'canceled', 'superseded', 'discarded', 'expired'],
  reschedule: ['waiting'],
  retry: ['retrying', 'failed'],
};

/** The same for kept messages. */
export const actionableKeptStates: Readonly<Record<KeptAction, readonly KeptState[]>> = {
  discard: openKeptStates,
  retry: openKeptStates,
};

/** The changes of kept messages. */
export const keptChanges: Readonly<Record<KeptAction, KeptChange<string>>> = {
  discard: discardKept,
  retry: retryKept,
};

/** The change that a stored operation makes. @throws for `withdraw`, which an earlier version has begun */
export function changeOf(
  bulk: Pick<BulkStanding, 'arguments'> & { readonly action: Exclude<BulkStanding['action'], 'replay'> },
  filter: BulkFilter,
): MessageChange<string> {
  return onlyMatching(filter, singleChange(bulk));
}

/** Limits a change to rows that match the filter when they are locked; others are answered `too-late`. */
function onlyMatching<Result extends string>(
  filter: BulkFilter,
  change: MessageChange<Result>,
): MessageChange<Result> {
  return {
    ...change,
    apply: async (sql, rows) => {
      const matching = await stillMatching(
        sql,
        filter,
        rows.map(({ id }) => id),
      );
      return change.apply(
        sql,
        rows.filter(({ id }) => matching.has(id)),
      );
    },
  };
}

function singleChange({ action, arguments: due }: Parameters<typeof changeOf>[0]): MessageChange<string> {
  switch (action) {
    case 'cancel':
      return cancelChange;
    case 'discard':
      return discardChange;
    case 'reschedule':
      // A stored reschedule always has its due time.
      return rescheduleChange(due as NewDue);
    case 'retry':
      return retryChange;
    case 'withdraw':
      throw new Error(
        'This version withdraws no messages in bulk. Abort this operation, resume the topics that it has left paused (see status), and withdraw by ids.',
      );
  }
}
