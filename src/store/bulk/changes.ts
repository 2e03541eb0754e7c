import type { State } from '../../core/transitions.ts';
import { cancelChange } from '../message/cancel.ts';
import type { MessageChange } from '../message/change-messages.ts';
import { discardChange } from '../message/discard.ts';
import { type NewDue, rescheduleChange } from '../message/reschedule.ts';
import { retryChange } from '../message/retry.ts';
import type { BulkAction, BulkRow } from './bulk.ts';
import { type BulkFilter, stillMatching } from './selection.ts';

/** The states that an action can do something to. A selection has no others: published messages are not refused one by one. */
export const actionableStates: Readonly<Record<BulkAction, readonly State[]>> = {
  cancel: ['waiting', 'held', 'retrying'],
  discard: ['failed'],
  reschedule: ['waiting'],
  retry: ['retrying', 'failed'],
  withdraw: ['waiting', 'ready', 'held', 'retrying'],
};

/** The change that a stored operation makes; undefined for `withdraw`, which takes more than one transaction. */
export function changeOf(
  bulk: Pick<BulkRow, 'action' | 'arguments' | 'filter'>,
): MessageChange<string> | undefined {
  const change = singleChange(bulk);
  return change && onlyMatching(bulk.filter, change);
}

/** Makes a change only of rows that match the filter when they are locked; others are answered `too-late`. */
export function onlyMatching<Result extends string>(
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

function singleChange({
  action,
  arguments: due,
}: Pick<BulkRow, 'action' | 'arguments'>): MessageChange<string> | undefined {
  switch (action) {
    case 'cancel':
      return cancelChange;
    case 'discard':
      return discardChange;
    case 'reschedule':
      // A reschedule is stored with when.
      return rescheduleChange(due as NewDue);
    case 'retry':
      return retryChange;
    case 'withdraw':
      return undefined;
  }
}
