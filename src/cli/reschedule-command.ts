import { type ChangeFlags, changeCommand, refOf } from './change-command.ts';
import { durationOfFlag, timeOfFlag } from './flag-values.ts';
import { usageError } from './operator-flags.ts';
import type { Output } from './output.ts';

export interface RescheduleFlags extends ChangeFlags {
  readonly after?: string;
  readonly at?: string;
  readonly shift?: string;
}

/** Moves the due time of waiting messages: of the named ones, or of all that match a filter. */
export async function rescheduleCommand(
  flags: RescheduleFlags,
  ids: readonly string[],
  output: Output,
): Promise<number> {
  const { after, at, shift } = flags;
  if (shift !== undefined && (ids.length > 0 || refOf(flags, ids) !== undefined))
    return usageError('--shift needs a filter.', output);
  if (shift !== undefined && (after !== undefined || at !== undefined))
    return usageError('--shift replaces --after and --at.', output);
  const due = shift === undefined ? dueOf(flags) : { shift: durationOfFlag('shift', shift) };
  if (due === undefined) return usageError('Give either --after, such as 15m, or --at, an ISO time.', output);
  return changeCommand({ action: 'reschedule', ...due }, flags, ids, output, (to, target, options) =>
    to.reschedule(target, { ...options, ...due }),
  );
}

/** `undefined`: none or both are given. */
function dueOf({ after, at }: RescheduleFlags): { after: number } | { at: Date } | undefined {
  if (after !== undefined && at === undefined) return { after: durationOfFlag('after', after) };
  if (at !== undefined && after === undefined) return { at: timeOfFlag('at', at) };
  return undefined;
}
