import type { ReplayTask } from '../operations/bulk/bulk.ts';
import { type ManyFlags, startManyCommand } from './bulk-start-command.ts';
import { sampleTable } from './change-command.ts';
import { type FilterFlags, filterOf } from './filter-flags.ts';
import { usageError } from './operator-flags.ts';
import type { Output } from './output.ts';

export interface ReplayFlags extends ManyFlags, FilterFlags {
  readonly to?: string;
  readonly sameIds?: boolean;
  readonly id?: readonly string[];
  readonly address?: string;
}

/** Sends messages of one topic again, those that match a filter. */
export async function replayCommand(flags: ReplayFlags, output: Output): Promise<number> {
  const { address, id: ids, topic, to, sameIds } = flags;
  if (sameIds === true)
    return usageError(
      '--same-ids is not possible: receipts, show and verify find one message by its id. Copies name their original in the header outbox-replay-of.',
      output,
    );
  if (address !== undefined)
    return usageError(
      '--address is not possible: order, retries and receipts belong to a topic. Give a topic that address, and name it with --to.',
      output,
    );
  if (topic === undefined) return usageError('Name the topic of the messages with --topic.', output);
  const task: ReplayTask = {
    action: 'replay',
    ...(to !== undefined && { to }),
    ...(ids !== undefined && { ids }),
  };
  return startManyCommand(
    {
      action: `replay to ${to ?? topic}`,
      start: (at, options) => at.bulk.start(filterOf(flags), task, options),
      tableOf: sampleTable,
    },
    flags,
    output,
  );
}
