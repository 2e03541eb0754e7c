import { carryOut } from './change-command.ts';
import { type OperatorFlags, usageError } from './operator-flags.ts';
import type { Output } from './output.ts';

/** Flags of {@link keptExpungeCommand}. */
export interface ExpungeFlags extends OperatorFlags {
  readonly group?: string;
}

/** Expunges messages that one group keeps, and prints the result of each. They are named, because it cannot be undone. */
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
