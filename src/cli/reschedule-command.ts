import { type Duration, durationMs } from '../core/duration.ts';
import { type BulkStartFlags, bulkStartCommand, filterMisuse, isFilter } from './bulk-start-command.ts';
import { type ChangeFlags, changeCommand } from './change-command.ts';
import { timeOfFlag } from './filter-flags.ts';
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
  if ('wrong' in due) return usageError(due.wrong, output);
  if (isFilter(flags, ids)) return bulkStartCommand({ action: 'reschedule', ...due }, flags, output);
  return changeCommand('Reschedule', { flags, ids, output }, (at, target, options) =>
    at.reschedule(target, { ...options, ...due }),
  );
}

async function shiftMany(flags: RescheduleFlags, output: Output): Promise<number> {
  const { after, at, shift } = flags;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- durationMs answers undefined for other texts
  const shiftMs = durationMs(shift as Duration);
  if (shiftMs === undefined || after !== undefined || at !== undefined)
    return usageError('--shift takes a duration such as 15m or -15m, and replaces --after and --at.', output);
  return bulkStartCommand({ action: 'reschedule', shift: shiftMs }, flags, output);
}

/** `undefined`: none or both are given. */
function dueOf({
  after,
  at,
}: RescheduleFlags): { after: number } | { at: Date } | { readonly wrong: string } | undefined {
  if ((after === undefined) === (at === undefined)) return undefined;
  if (at !== undefined) return { at: timeOfFlag('at', at) };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- durationMs answers undefined for other texts
  const afterMs = durationMs(after as Duration);
  return afterMs === undefined
    ? { wrong: `--after takes a duration such as 15m, and "${after}" is none.` }
    : { after: afterMs };
}
