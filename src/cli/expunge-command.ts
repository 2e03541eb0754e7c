import { carryOut, refOf } from './change-command.ts';
import { filterOf } from './filter-flags.ts';
import { type OperatorFlags, usageError } from './operator-flags.ts';
import type { Output } from './output.ts';

export interface ExpungeFlags extends OperatorFlags {
  readonly topic?: string;
  readonly ref?: string;
  readonly group?: string;
}

/** Expunges messages of the outbox, and prints the result of each. They are named, because it cannot be undone. */
export function expungeCommand(flags: ExpungeFlags, ids: readonly string[], output: Output): Promise<number> {
  const byRef = refOf(flags, ids);
  return carryOut(
    {
      action: 'expunge',
      filter: filterOf(flags),
      ids,
      ref: byRef?.ref,
      howToName: 'Name messages by their ids, or one with --topic and --ref.',
      change: (at, options) => at.expunge(byRef ?? { ids }, options),
      rowOf: ({ topic }) => ['TOPIC', topic],
    },
    flags,
    output,
  );
}

/** The same for messages that one group keeps. */
export async function keptExpungeCommand(
  flags: ExpungeFlags,
  ids: readonly string[],
  output: Output,
): Promise<number> {
  const { group } = flags;
  if (group === undefined) return usageError('Name the consumer group with --group.', output);
  return carryOut(
    {
      action: 'expunge',
      filter: {},
      ids,
      howToName: 'Name messages by their ids.',
      change: ({ inbox }, options) => inbox.expunge({ group, ids }, options),
      rowOf: (answer) => ['KEY', 'key' in answer ? answer.key : null],
    },
    flags,
    output,
  );
}
