import { type BulkStartFlags, bulkStartCommand, filterMisuse, isFilter } from './bulk-start-command.ts';
import { type ChangeFlags, changeCommand } from './change-command.ts';
import { durationOfFlag, timeOfFlag } from './flag-values.ts';
import { usageError } from './operator-flags.ts';
import type { Output } from './output.ts';

export interface RescheduleFlags extends ChangeFlags, BulkStartFlags {
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
  if (isFilter(flags, ids) && flags.shift !== undefined) return shiftMany(flags, output);
  const misuse = filterMisuse(flags, ids);
  if (misuse !== undefined) return usageError(misuse, output);
  if (flags.shift !== undefined) return usageError('--shift needs a filter.', output);
  const due = dueOf(flags);
  if (due === undefined) return usageError('Give either --after, such as 15m, or --at, an ISO time.', output);
  if (isFilter(flags, ids)) return bulkStartCommand({ action: 'reschedule', ...due }, flags, output);
  return changeCommand('Reschedule', { flags, ids, output }, (at, target, options) =>
    at.reschedule(target, { ...options, ...due }),
  );
}

async function shiftMany(flags: RescheduleFlags, output: Output): Promise<number> {
  const { after, at, shift = '' } = flags;
  if (after !== undefined || at !== undefined)
    return usageError('--shift replaces --after and --at.', output);
  return bulkStartCommand({ action: 'reschedule', shift: durationOfFlag('shift', shift) }, flags, output);
}

/** `undefined`: none or both are given. */
function dueOf({ after, at }: RescheduleFlags): { after: number } | { at: Date } | undefined {
  if (after !== undefined && at === undefined) return { after: durationOfFlag('after', after) };
  if (at !== undefined && after === undefined) return { at: timeOfFlag('at', at) };
  return undefined;
}
