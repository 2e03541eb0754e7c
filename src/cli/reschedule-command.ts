import { type Duration, durationMs } from '../core/duration.ts';
import { type BulkStartOptions, bulkStartCommand, filterMisuse, isFilter } from './bulk-start-command.ts';
import { type ChangeOptions, changeCommand } from './change-command.ts';
import { usageError } from './operator-options.ts';
import type { Output } from './output.ts';

export interface RescheduleOptions extends ChangeOptions, BulkStartOptions {
  readonly after?: string;
  readonly at?: string;
  readonly shift?: string;
}

/** Moves the due time of waiting messages: of those that are named, or of all that a filter matches. */
export async function rescheduleCommand(
  options: RescheduleOptions,
  ids: readonly string[],
  output: Output,
): Promise<number> {
  if (isFilter(options, ids) && options.shift !== undefined) return shiftMany(options, output);
  const misuse = filterMisuse(options, ids);
  if (misuse !== undefined) return usageError(misuse, output);
  if (options.shift !== undefined) return usageError('--shift goes with a filter.', output);
  const due = dueOf(options);
  if (due === undefined) return usageError('Say either --after, such as 15m, or --at, an ISO time.', output);
  if (isFilter(options, ids)) return bulkStartCommand({ action: 'reschedule', ...due }, options, output);
  return changeCommand('Reschedule', { options, ids, output }, (at, target, ask) =>
    at.reschedule(target, { ...ask, ...due }),
  );
}

async function shiftMany(options: RescheduleOptions, output: Output): Promise<number> {
  const { after, at, shift } = options;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- durationMs answers undefined for other texts
  const shiftMs = durationMs(shift as Duration);
  if (shiftMs === undefined || after !== undefined || at !== undefined)
    return usageError('--shift takes a time such as 15m or -15m, and stands for --after and --at.', output);
  return bulkStartCommand({ action: 'reschedule', shift: shiftMs }, options, output);
}

function dueOf({ after, at }: RescheduleOptions): { after: number } | { at: Date } | undefined {
  if ((after === undefined) === (at === undefined)) return undefined;
  if (at !== undefined) return Number.isNaN(Date.parse(at)) ? undefined : { at: new Date(at) };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- durationMs answers undefined for other texts
  const afterMs = durationMs(after as Duration);
  return afterMs === undefined ? undefined : { after: afterMs };
}
